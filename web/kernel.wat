;; Products with weights where they are read only once, so that memory is the limit: one token's
;; numbers times rows of weights, out[r] = x · w[r] + b[r]. matrix.wat has the others, whole.wat those
;; with whole numbers. Four numbers are multiplied at once. Addresses and strides are in bytes.

  (func $sum (param $a v128) (result f32)
    (f32.add
      (f32.add (f32x4.extract_lane 0 (local.get $a)) (f32x4.extract_lane 1 (local.get $a)))
      (f32.add (f32x4.extract_lane 2 (local.get $a)) (f32x4.extract_lane 3 (local.get $a)))))

  ;; The sum over the last one to three numbers, those from byte $k to byte $end.
  (func $tail (param $x i32) (param $w i32) (param $k i32) (param $end i32) (result f32)
    (local $s f32)
    (block $done (loop $more
      (br_if $done (i32.ge_u (local.get $k) (local.get $end)))
      (local.set $s (f32.add (local.get $s) (f32.mul
        (f32.load (i32.add (local.get $x) (local.get $k)))
        (f32.load (i32.add (local.get $w) (local.get $k))))))
      (local.set $k (i32.add (local.get $k) (i32.const 4)))
      (br $more)))
    (local.get $s))

  ;; out = the four sums of $a, the tail, and the number at $b if $b is not 0.
  (func $put (param $a v128) (param $x i32) (param $w i32) (param $k i32) (param $end i32)
             (param $b i32) (param $out i32)
    (local $s f32)
    (local.set $s (f32.add (call $sum (local.get $a))
      (call $tail (local.get $x) (local.get $w) (local.get $k) (local.get $end))))
    (if (local.get $b) (then (local.set $s (f32.add (local.get $s) (f32.load (local.get $b))))))
    (f32.store (local.get $out) (local.get $s)))

  ;; 1 token × 1 output, sixteen numbers in flight; so rows are read one after the other, as
  ;; memory likes it.
  (func $row (param $x i32) (param $w i32) (param $K i32) (param $b i32) (param $out i32)
    (local $k i32) (local $end i32) (local $i i32) (local $j i32)
    (local $p v128) (local $q v128) (local $r v128) (local $s v128)
    (local.set $end (i32.and (local.get $K) (i32.const -64)))
    (block $done (loop $more
      (br_if $done (i32.ge_u (local.get $k) (local.get $end)))
      (local.set $i (i32.add (local.get $x) (local.get $k)))
      (local.set $j (i32.add (local.get $w) (local.get $k)))
      (local.set $p (f32x4.add (local.get $p) (f32x4.mul
        (v128.load (local.get $i)) (v128.load (local.get $j)))))
      (local.set $q (f32x4.add (local.get $q) (f32x4.mul
        (v128.load offset=16 (local.get $i)) (v128.load offset=16 (local.get $j)))))
      (local.set $r (f32x4.add (local.get $r) (f32x4.mul
        (v128.load offset=32 (local.get $i)) (v128.load offset=32 (local.get $j)))))
      (local.set $s (f32x4.add (local.get $s) (f32x4.mul
        (v128.load offset=48 (local.get $i)) (v128.load offset=48 (local.get $j)))))
      (local.set $k (i32.add (local.get $k) (i32.const 64)))
      (br $more)))
    (call $put (f32x4.add (f32x4.add (local.get $p) (local.get $q))
                          (f32x4.add (local.get $r) (local.get $s)))
      (local.get $x) (local.get $w) (local.get $k) (local.get $K) (local.get $b) (local.get $out)))

  ;; One row times four, which stand $step bytes apart: a number of the one, once loaded, is used
  ;; four times. Outputs stand $os bytes apart, and biases $bs.
  (func $four (param $x i32) (param $w i32) (param $step i32) (param $K i32)
              (param $b i32) (param $bs i32) (param $out i32) (param $os i32)
    (local $k i32) (local $end i32) (local $p v128) (local $w1 i32) (local $w2 i32) (local $w3 i32)
    (local $a0 v128) (local $a1 v128) (local $a2 v128) (local $a3 v128)
    (local.set $w1 (i32.add (local.get $w) (local.get $step)))
    (local.set $w2 (i32.add (local.get $w1) (local.get $step)))
    (local.set $w3 (i32.add (local.get $w2) (local.get $step)))
    (local.set $end (i32.and (local.get $K) (i32.const -16)))
    (block $done (loop $more
      (br_if $done (i32.ge_u (local.get $k) (local.get $end)))
      (local.set $p (v128.load (i32.add (local.get $x) (local.get $k))))
      (local.set $a0 (f32x4.add (local.get $a0) (f32x4.mul (local.get $p)
        (v128.load (i32.add (local.get $w) (local.get $k))))))
      (local.set $a1 (f32x4.add (local.get $a1) (f32x4.mul (local.get $p)
        (v128.load (i32.add (local.get $w1) (local.get $k))))))
      (local.set $a2 (f32x4.add (local.get $a2) (f32x4.mul (local.get $p)
        (v128.load (i32.add (local.get $w2) (local.get $k))))))
      (local.set $a3 (f32x4.add (local.get $a3) (f32x4.mul (local.get $p)
        (v128.load (i32.add (local.get $w3) (local.get $k))))))
      (local.set $k (i32.add (local.get $k) (i32.const 16)))
      (br $more)))
    ;; The four sums of each become one vector.
    (local.set $p (f32x4.add
      (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $a0) (local.get $a1))
      (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31
        (local.get $a0) (local.get $a1))))
    (local.set $a2 (f32x4.add
      (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $a2) (local.get $a3))
      (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31
        (local.get $a2) (local.get $a3))))
    (local.set $p (f32x4.add
      (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $p) (local.get $a2))
      (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31
        (local.get $p) (local.get $a2))))
    (if (i32.lt_u (local.get $k) (local.get $K)) (then
      (local.set $p (f32x4.add (local.get $p) (f32x4.replace_lane 3 (f32x4.replace_lane 2
        (f32x4.replace_lane 1
          (f32x4.splat
            (call $tail (local.get $x) (local.get $w) (local.get $k) (local.get $K)))
          (call $tail (local.get $x) (local.get $w1) (local.get $k) (local.get $K)))
        (call $tail (local.get $x) (local.get $w2) (local.get $k) (local.get $K)))
        (call $tail (local.get $x) (local.get $w3) (local.get $k) (local.get $K)))))))
    (if (local.get $b) (then
      (local.set $a0 (v128.load32_zero (local.get $b)))
      (local.set $b (i32.add (local.get $b) (local.get $bs)))
      (local.set $a0 (v128.load32_lane 1 (local.get $b) (local.get $a0)))
      (local.set $b (i32.add (local.get $b) (local.get $bs)))
      (local.set $a0 (v128.load32_lane 2 (local.get $b) (local.get $a0)))
      (local.set $b (i32.add (local.get $b) (local.get $bs)))
      (local.set $p (f32x4.add (local.get $p)
        (v128.load32_lane 3 (local.get $b) (local.get $a0))))))
    (v128.store32_lane 0 (local.get $out) (local.get $p))
    (local.set $out (i32.add (local.get $out) (local.get $os)))
    (v128.store32_lane 1 (local.get $out) (local.get $p))
    (local.set $out (i32.add (local.get $out) (local.get $os)))
    (v128.store32_lane 2 (local.get $out) (local.get $p))
    (local.set $out (i32.add (local.get $out) (local.get $os)))
    (v128.store32_lane 3 (local.get $out) (local.get $p)))

  ;; $row with float16 weights, for K bytes of x, a multiple of 32; eight numbers in flight. The bits
  ;; of exponent and fraction, moved into their places, are the number over 2 to the power of 112.
  (func $rowHalf (param $x i32) (param $w i32) (param $K i32) (param $b i32) (param $out i32)
    (local $end i32) (local $p v128) (local $q v128)
    (local.set $end (i32.add (local.get $x) (local.get $K)))
    (loop $more
      (local.set $p (f32x4.add (local.get $p) (f32x4.mul (v128.load (local.get $x))
        (f32x4.mul (f32x4.splat (f32.const 0x1p112)) (v128.and (i32x4.splat (i32.const 0x8fffffff))
          (i32x4.shl (v128.load16x4_s (local.get $w)) (i32.const 13)))))))
      (local.set $q (f32x4.add (local.get $q) (f32x4.mul (v128.load offset=16 (local.get $x))
        (f32x4.mul (f32x4.splat (f32.const 0x1p112)) (v128.and (i32x4.splat (i32.const 0x8fffffff))
          (i32x4.shl (v128.load16x4_s offset=8 (local.get $w)) (i32.const 13)))))))
      (local.set $x (i32.add (local.get $x) (i32.const 32)))
      (local.set $w (i32.add (local.get $w) (i32.const 16)))
      (br_if $more (i32.lt_u (local.get $x) (local.get $end))))
    (call $put (f32x4.add (local.get $p) (local.get $q)) (local.get $x) (local.get $x)
      (i32.const 0) (i32.const 0) (local.get $b) (local.get $out)))

  ;; K bytes of float32 at $to from as many float16 at $w.
  (func $widen (param $w i32) (param $to i32) (param $K i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $to) (local.get $K)))
    (loop $more
      (v128.store (local.get $to)
        (f32x4.mul (f32x4.splat (f32.const 0x1p112)) (v128.and (i32x4.splat (i32.const 0x8fffffff))
          (i32x4.shl (v128.load16x4_s (local.get $w)) (i32.const 13)))))
      (local.set $w (i32.add (local.get $w) (i32.const 8)))
      (local.set $to (i32.add (local.get $to) (i32.const 16)))
      (br_if $more (i32.lt_u (local.get $to) (local.get $end)))))

  ;; One token: x is K numbers, w has R rows `ws` bytes apart; b may be 0, no bias. Four rows of w are
  ;; read at a time, a quarter of w apart, because memory brings four far streams nearly twice as
  ;; fast as one; the rows behind the last quarter are left over. Where $wide is not 0, w is float16,
  ;; and there is room for a row as float32.
  (func (export "oneToken") (param $x i32) (param $w i32) (param $b i32) (param $out i32)
                            (param $K i32) (param $R i32) (param $ws i32) (param $wide i32)
    (local $r i32) (local $u i32) (local $y i32) (local $o i32) (local $bs i32) (local $q i32)
    (local.set $K (i32.shl (local.get $K) (i32.const 2)))
    (local.set $bs (select (i32.const 4) (i32.const 0) (local.get $b)))
    (if (i32.eqz (local.get $wide)) (then
      (local.set $q (i32.shr_u (local.get $R) (i32.const 2)))
      (local.set $u (local.get $w))
      (local.set $o (local.get $out))
      (local.set $y (local.get $b))
      (block $done (loop $quarter
        (br_if $done (i32.ge_u (local.get $r) (local.get $q)))
        (call $four (local.get $x) (local.get $u) (i32.mul (local.get $q) (local.get $ws))
          (local.get $K) (local.get $y) (i32.mul (local.get $q) (local.get $bs))
          (local.get $o) (i32.shl (local.get $q) (i32.const 2)))
        (local.set $u (i32.add (local.get $u) (local.get $ws)))
        (local.set $y (i32.add (local.get $y) (local.get $bs)))
        (local.set $o (i32.add (local.get $o) (i32.const 4)))
        (local.set $r (i32.add (local.get $r) (i32.const 1)))
        (br $quarter)))
      (local.set $r (i32.shl (local.get $q) (i32.const 2)))
      (local.set $w (i32.add (local.get $w) (i32.mul (local.get $r) (local.get $ws))))
      (local.set $b (i32.add (local.get $b) (i32.mul (local.get $r) (local.get $bs))))
      (local.set $out (i32.add (local.get $out) (i32.shl (local.get $r) (i32.const 2))))))
    (block $done (loop $rows
      (br_if $done (i32.ge_u (local.get $r) (local.get $R)))
      (if (i32.and (i32.ne (local.get $wide) (i32.const 0))
                   (i32.eqz (i32.and (local.get $K) (i32.const 31))))
        (then
          (call $rowHalf (local.get $x) (local.get $w) (local.get $K) (local.get $b)
            (local.get $out)))
        (else
          (local.set $u (local.get $w))
          (if (local.get $wide) (then
            (call $widen (local.get $w) (local.get $wide) (local.get $K))
            (local.set $u (local.get $wide))))
          (call $row (local.get $x) (local.get $u) (local.get $K) (local.get $b)
            (local.get $out))))
      (local.set $w (i32.add (local.get $w) (local.get $ws)))
      (local.set $b (i32.add (local.get $b) (local.get $bs)))
      (local.set $out (i32.add (local.get $out) (i32.const 4)))
      (local.set $r (i32.add (local.get $r) (i32.const 1)))
      (br $rows))))
