;; The rest of kernel.wat: LayerNorm and its gradient, sums, moves, and AdamW.

  ;; The mean of a row, and 1 / √(variance + $epsilon).
  (func $spread (param $x i32) (param $n i32) (param $epsilon f32) (result f32 f32)
    (local $k i32) (local $a v128) (local $mean v128) (local $count f32)
    (local.set $count (f32.convert_i32_u (i32.shr_u (local.get $n) (i32.const 2))))
    (loop $more
      (local.set $a (f32x4.add (local.get $a) (v128.load (i32.add (local.get $x) (local.get $k)))))
      (br_if $more (i32.lt_u (local.tee $k (i32.add (local.get $k) (i32.const 16)))
        (local.get $n))))
    (local.set $mean (f32x4.splat (f32.div (call $sum (local.get $a)) (local.get $count))))
    (local.set $a (v128.const i64x2 0 0))
    (local.set $k (i32.const 0))
    (loop $more
      (local.set $a (f32x4.add (local.get $a) (call $square
        (f32x4.sub (v128.load (i32.add (local.get $x) (local.get $k))) (local.get $mean)))))
      (br_if $more (i32.lt_u (local.tee $k (i32.add (local.get $k) (i32.const 16)))
        (local.get $n))))
    (f32x4.extract_lane 0 (local.get $mean))
    (f32.div (f32.const 1) (f32.sqrt (f32.add (local.get $epsilon)
      (f32.div (call $sum (local.get $a)) (local.get $count))))))

  (func $square (param $a v128) (result v128) (f32x4.mul (local.get $a) (local.get $a)))

  (func (export "layerNorm") (param $x i32) (param $w i32) (param $b i32) (param $epsilon f32)
                             (param $out i32) (param $T i32) (param $n i32)
    (local $k i32) (local $mean v128) (local $scale v128)
    (loop $next
      (call $spread (local.get $x) (local.get $n) (local.get $epsilon))
      (local.set $scale (f32x4.splat))
      (local.set $mean (f32x4.splat))
      (local.set $k (i32.const 0))
      (loop $more
        (v128.store (i32.add (local.get $out) (local.get $k)) (f32x4.add (v128.load (i32.add (local.get $b) (local.get $k)))
          (f32x4.mul (v128.load (i32.add (local.get $w) (local.get $k))) (f32x4.mul (local.get $scale)
            (f32x4.sub (v128.load (i32.add (local.get $x) (local.get $k))) (local.get $mean))))))
        (br_if $more (i32.lt_u (local.tee $k (i32.add (local.get $k) (i32.const 16)))
          (local.get $n))))
      (local.set $x (i32.add (local.get $x) (local.get $n)))
      (local.set $out (i32.add (local.get $out) (local.get $n)))
      (br_if $next (local.tee $T (i32.sub (local.get $T) (i32.const 1))))))

  ;; h = (x - mean) · scale and dh = dy · w; dx is scale (dh - its mean - h · the mean of dh h), to
  ;; which dx's old numbers are added if $add is not 0. dw grows by dy h, and db by dy.
  (func (export "layerNormBackward") (param $x i32) (param $w i32) (param $epsilon f32)
      (param $dy i32) (param $dx i32) (param $dw i32) (param $db i32) (param $T i32) (param $n i32)
      (param $add i32)
    (local $k i32) (local $mean v128) (local $scale v128) (local $h v128) (local $d v128)
    (local $shift v128) (local $stretch v128) (local $count f32)
    (local.set $count (f32.convert_i32_u (i32.shr_u (local.get $n) (i32.const 2))))
    (loop $next
      (call $spread (local.get $x) (local.get $n) (local.get $epsilon))
      (local.set $scale (f32x4.splat))
      (local.set $mean (f32x4.splat))
      (local.set $shift (v128.const i64x2 0 0))
      (local.set $stretch (v128.const i64x2 0 0))
      (local.set $k (i32.const 0))
      (loop $more
        (local.set $h (f32x4.mul (local.get $scale)
          (f32x4.sub (v128.load (i32.add (local.get $x) (local.get $k))) (local.get $mean))))
        (local.set $d (v128.load (i32.add (local.get $dy) (local.get $k))))
        (v128.store (i32.add (local.get $db) (local.get $k)) (f32x4.add (local.get $d)
          (v128.load (i32.add (local.get $db) (local.get $k)))))
        (v128.store (i32.add (local.get $dw) (local.get $k)) (f32x4.add
          (f32x4.mul (local.get $d) (local.get $h))
          (v128.load (i32.add (local.get $dw) (local.get $k)))))
        (local.set $d (f32x4.mul (local.get $d) (v128.load (i32.add (local.get $w) (local.get $k)))))
        (local.set $shift (f32x4.add (local.get $shift) (local.get $d)))
        (local.set $stretch (f32x4.add (local.get $stretch)
          (f32x4.mul (local.get $d) (local.get $h))))
        (br_if $more (i32.lt_u (local.tee $k (i32.add (local.get $k) (i32.const 16)))
          (local.get $n))))
      (local.set $shift (f32x4.splat (f32.div (call $sum (local.get $shift)) (local.get $count))))
      (local.set $stretch
        (f32x4.splat (f32.div (call $sum (local.get $stretch)) (local.get $count))))
      (local.set $k (i32.const 0))
      (loop $more
        (local.set $h (f32x4.mul (local.get $scale)
          (f32x4.sub (v128.load (i32.add (local.get $x) (local.get $k))) (local.get $mean))))
        (local.set $d (f32x4.mul (local.get $scale) (f32x4.sub
          (f32x4.sub
            (f32x4.mul (v128.load (i32.add (local.get $dy) (local.get $k))) (v128.load (i32.add (local.get $w) (local.get $k))))
            (local.get $shift))
          (f32x4.mul (local.get $h) (local.get $stretch)))))
        (if (local.get $add) (then
          (local.set $d (f32x4.add (local.get $d) (v128.load (i32.add (local.get $dx) (local.get $k)))))))
        (v128.store (i32.add (local.get $dx) (local.get $k)) (local.get $d))
        (br_if $more (i32.lt_u (local.tee $k (i32.add (local.get $k) (i32.const 16)))
          (local.get $n))))
      (local.set $x (i32.add (local.get $x) (local.get $n)))
      (local.set $dx (i32.add (local.get $dx) (local.get $n)))
      (local.set $dy (i32.add (local.get $dy) (local.get $n)))
      (br_if $next (local.tee $T (i32.sub (local.get $T) (i32.const 1))))))

  (func $add (export "add") (param $x i32) (param $y i32) (param $out i32) (param $n i32)
    (local $k i32)
    (loop $more
      (v128.store (i32.add (local.get $out) (local.get $k)) (f32x4.add (v128.load (i32.add (local.get $x) (local.get $k)))
        (v128.load (i32.add (local.get $y) (local.get $k)))))
      (br_if $more (i32.lt_u (local.tee $k (i32.add (local.get $k) (i32.const 16)))
        (local.get $n)))))

  ;; sum[r] grows by x[t, r], for all t.
  (func (export "sumOfRows") (param $x i32) (param $T i32) (param $n i32) (param $sum i32)
    (loop $next
      (call $add (local.get $sum) (local.get $x) (local.get $sum) (local.get $n))
      (local.set $x (i32.add (local.get $x) (local.get $n)))
      (br_if $next (local.tee $T (i32.sub (local.get $T) (i32.const 1))))))

  ;; In float64, in which no square of a float32 is infinite.
  (func (export "sumOfSquares") (param $x i32) (param $n i32) (result f64)
    (local $k i32) (local $v v128) (local $a v128) (local $b v128)
    (loop $more
      (local.set $v (v128.load (i32.add (local.get $x) (local.get $k))))
      (local.set $a (f64x2.add (local.get $a)
        (call $squareWide (f64x2.promote_low_f32x4 (local.get $v)))))
      (local.set $b (f64x2.add (local.get $b) (call $squareWide (f64x2.promote_low_f32x4
        (i8x16.shuffle 8 9 10 11 12 13 14 15 8 9 10 11 12 13 14 15
          (local.get $v) (local.get $v))))))
      (br_if $more (i32.lt_u (local.tee $k (i32.add (local.get $k) (i32.const 16)))
        (local.get $n))))
    (local.set $a (f64x2.add (local.get $a) (local.get $b)))
    (f64.add (f64x2.extract_lane 0 (local.get $a)) (f64x2.extract_lane 1 (local.get $a))))

  (func $squareWide (param $a v128) (result v128) (f64x2.mul (local.get $a) (local.get $a)))

  ;; Numbers (H, T, D) from their places to others: steps from head to head, from token to token and
  ;; from number to number.
  (func (export "move") (param $x i32) (param $xh i32) (param $xt i32) (param $xd i32)
                        (param $y i32) (param $yh i32) (param $yt i32) (param $yd i32)
                        (param $H i32) (param $T i32) (param $D i32)
    (local $t i32) (local $d i32) (local $from i32) (local $to i32) (local $wide i32)
    (local.set $wide (i32.and (i32.eq (local.get $xd) (i32.const 4))
      (i32.and (i32.eq (local.get $yd) (i32.const 4))
        (i32.eqz (i32.and (local.get $D) (i32.const 3))))))
    (loop $heads
      (local.set $t (i32.const 0))
      (loop $tokens
        (local.set $from (i32.add (local.get $x) (i32.mul (local.get $xt) (local.get $t))))
        (local.set $to (i32.add (local.get $y) (i32.mul (local.get $yt) (local.get $t))))
        (local.set $d (local.get $D))
        (if (local.get $wide)
          (then (loop $more
            (v128.store (local.get $to) (v128.load (local.get $from)))
            (local.set $from (i32.add (local.get $from) (i32.const 16)))
            (local.set $to (i32.add (local.get $to) (i32.const 16)))
            (br_if $more (local.tee $d (i32.sub (local.get $d) (i32.const 4))))))
          (else (loop $more
            (f32.store (local.get $to) (f32.load (local.get $from)))
            (local.set $from (i32.add (local.get $from) (local.get $xd)))
            (local.set $to (i32.add (local.get $to) (local.get $yd)))
            (br_if $more (local.tee $d (i32.sub (local.get $d) (i32.const 1)))))))
        (br_if $tokens (i32.lt_u (local.tee $t (i32.add (local.get $t) (i32.const 1)))
          (local.get $T))))
      (local.set $x (i32.add (local.get $x) (local.get $xh)))
      (local.set $y (i32.add (local.get $y) (local.get $yh)))
      (br_if $heads (local.tee $H (i32.sub (local.get $H) (i32.const 1))))))

  ;; adamw.mjs; 0 if all weights and the v are finite after it, else NaN.
  (func (export "adamW") (param $w i32) (param $g i32) (param $m i32) (param $v i32) (param $n i32)
      (param $scale f32) (param $beta1 f32) (param $rest1 f32) (param $beta2 f32) (param $rest2 f32)
      (param $kept f32) (param $rate f32) (param $unbias f32) (param $epsilon f32)
      (result f32)
    (local $k i32) (local $d v128) (local $p v128) (local $q v128) (local $zeros v128)
    (loop $more
      (local.set $d (f32x4.mul (v128.load (i32.add (local.get $g) (local.get $k)))
        (f32x4.splat (local.get $scale))))
      (local.set $p (f32x4.add
        (f32x4.mul (v128.load (i32.add (local.get $m) (local.get $k))) (f32x4.splat (local.get $beta1)))
        (f32x4.mul (local.get $d) (f32x4.splat (local.get $rest1)))))
      (local.set $q (f32x4.add
        (f32x4.mul (v128.load (i32.add (local.get $v) (local.get $k))) (f32x4.splat (local.get $beta2)))
        (f32x4.mul (call $square (local.get $d)) (f32x4.splat (local.get $rest2)))))
      (v128.store (i32.add (local.get $m) (local.get $k)) (local.get $p))
      (v128.store (i32.add (local.get $v) (local.get $k)) (local.get $q))
      (local.set $d (f32x4.sub
        (f32x4.mul (v128.load (i32.add (local.get $w) (local.get $k))) (f32x4.splat (local.get $kept)))
        (f32x4.div (f32x4.mul (local.get $p) (f32x4.splat (local.get $rate)))
          (f32x4.add (f32x4.splat (local.get $epsilon))
            (f32x4.mul (f32x4.sqrt (local.get $q)) (f32x4.splat (local.get $unbias)))))))
      (v128.store (i32.add (local.get $w) (local.get $k)) (local.get $d))
      (local.set $zeros (f32x4.add (local.get $zeros)
        (f32x4.mul (f32x4.add (local.get $d) (local.get $q)) (v128.const i64x2 0 0))))
      (br_if $more (i32.lt_u (local.tee $k (i32.add (local.get $k) (i32.const 16)))
        (local.get $n))))
    (call $sum (local.get $zeros)))
