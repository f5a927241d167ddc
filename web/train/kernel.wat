;; What training computes besides products, with SIMD: softmax, GELU, LayerNorm and their gradients,
;; sums, and AdamW. Addresses, strides and the lengths $n are in bytes. Where a length is not said to
;; be any, it is a multiple of 16; tensors end at one, so it may be rounded up. No relaxed instruction:
;; results of this file are the same on every machine.

  ;; eˣ, accurate to about 1 ulp: x is split into n ln 2 and a rest, whose power is a polynomial
  ;; (Cephes, Moshier). Below -87 it is 0, and above 88, e⁸⁸; NaN stays NaN. x / ln 2 + 1.5 · 2²³ has
  ;; no bits for a fraction: the sum is rounded, and n is in its last bits. On x86, pmin and pmax are
  ;; one instruction each, but min and max, which order 0 and -0 and keep NaN, are several.
  (func $exp (param $x v128) (result v128)
    (local $n v128) (local $y v128) (local $bits v128) (local $tiny v128)
    (local.set $tiny (f32x4.lt (local.get $x) (f32x4.splat (f32.const -87))))
    (local.set $x (f32x4.pmin (local.get $x) (f32x4.splat (f32.const 88))))
    (local.set $bits (f32x4.add (f32x4.splat (f32.const 12582912))
      (f32x4.mul (local.get $x) (f32x4.splat (f32.const 1.44269504088896341)))))
    (local.set $n (f32x4.sub (local.get $bits) (f32x4.splat (f32.const 12582912))))
    (local.set $x (f32x4.sub (f32x4.sub (local.get $x)
        (f32x4.mul (local.get $n) (f32x4.splat (f32.const 0.693359375))))
      (f32x4.mul (local.get $n) (f32x4.splat (f32.const -2.12194440e-4)))))
    (local.set $y (f32x4.add (f32x4.splat (f32.const 1.3981999507e-3))
      (f32x4.mul (local.get $x) (f32x4.splat (f32.const 1.9875691500e-4)))))
    (local.set $y (f32x4.add (f32x4.splat (f32.const 8.3334519073e-3))
      (f32x4.mul (local.get $x) (local.get $y))))
    (local.set $y (f32x4.add (f32x4.splat (f32.const 4.1665795894e-2))
      (f32x4.mul (local.get $x) (local.get $y))))
    (local.set $y (f32x4.add (f32x4.splat (f32.const 1.6666665459e-1))
      (f32x4.mul (local.get $x) (local.get $y))))
    (local.set $y (f32x4.add (f32x4.splat (f32.const 5.0000001201e-1))
      (f32x4.mul (local.get $x) (local.get $y))))
    (local.set $y (f32x4.add (f32x4.add (f32x4.splat (f32.const 1)) (local.get $x))
      (f32x4.mul (local.get $y) (f32x4.mul (local.get $x) (local.get $x)))))
    (v128.andnot
      (i32x4.add (local.get $y) (i32x4.shl (local.get $bits) (i32.const 23)))
      (local.get $tiny)))

  (func $sum (param $a v128) (result f32)
    (f32.add
      (f32.add (f32x4.extract_lane 0 (local.get $a)) (f32x4.extract_lane 1 (local.get $a)))
      (f32.add (f32x4.extract_lane 2 (local.get $a)) (f32x4.extract_lane 3 (local.get $a)))))

  ;; Of four numbers those whose place, from byte $k on, is before $n; in place of others, $else.
  (func $selectLanes (param $a v128) (param $k i32) (param $n i32) (param $else v128) (result v128)
    (v128.bitselect (local.get $a) (local.get $else)
      (i32x4.lt_s
        (i32x4.add (i32x4.splat (local.get $k)) (v128.const i32x4 0 4 8 12))
        (i32x4.splat (local.get $n)))))

  ;; The last numbers of a row at $out: bytes after it are unchanged.
  (func $storeTail (param $out i32) (param $a v128) (param $k i32) (param $n i32)
    (local.set $out (i32.add (local.get $out) (local.get $k)))
    (v128.store (local.get $out) (call $selectLanes (local.get $a) (local.get $k) (local.get $n)
      (v128.load (local.get $out)))))

  ;; A row of any length: out = softmax(x) · scale; out may be x. The largest number is left at $most,
  ;; and the sum of e^(x - largest) behind it.
  (func $row (export "softmaxRow") (param $x i32) (param $out i32) (param $n i32)
             (param $scale f32) (param $most i32)
    (local $k i32) (local $a v128) (local $e v128) (local $full i32)
    (local.set $full (i32.and (local.get $n) (i32.const -16)))
    (local.set $a (f32x4.splat (f32.const -inf)))
    (block $done (loop $more
      (br_if $done (i32.ge_u (local.get $k) (local.get $full)))
      (local.set $a (f32x4.pmax (local.get $a)
        (v128.load (i32.add (local.get $x) (local.get $k)))))
      (local.set $k (i32.add (local.get $k) (i32.const 16)))
      (br $more)))
    (if (i32.lt_u (local.get $k) (local.get $n)) (then
      (local.set $a (f32x4.pmax (local.get $a)
        (call $selectLanes (v128.load (i32.add (local.get $x) (local.get $k)))
          (local.get $k) (local.get $n) (local.get $a))))))
    (f32.store (local.get $most) (f32.max
      (f32.max (f32x4.extract_lane 0 (local.get $a)) (f32x4.extract_lane 1 (local.get $a)))
      (f32.max (f32x4.extract_lane 2 (local.get $a)) (f32x4.extract_lane 3 (local.get $a)))))
    (local.set $e (v128.load32_splat (local.get $most)))
    (local.set $a (v128.const i64x2 0 0))
    (local.set $k (i32.const 0))
    (block $done (loop $more
      (br_if $done (i32.ge_u (local.get $k) (local.get $full)))
      (v128.store (i32.add (local.get $out) (local.get $k)) (call $exp
        (f32x4.sub (v128.load (i32.add (local.get $x) (local.get $k))) (local.get $e))))
      (local.set $a (f32x4.add (local.get $a)
        (v128.load (i32.add (local.get $out) (local.get $k)))))
      (local.set $k (i32.add (local.get $k) (i32.const 16)))
      (br $more)))
    (if (i32.lt_u (local.get $k) (local.get $n)) (then
      (local.set $e (call $exp
        (f32x4.sub (v128.load (i32.add (local.get $x) (local.get $k))) (local.get $e))))
      (call $storeTail (local.get $out) (local.get $e) (local.get $k) (local.get $n))
      (local.set $a (f32x4.add (local.get $a)
        (call $selectLanes (local.get $e) (local.get $k) (local.get $n) (v128.const i64x2 0 0))))))
    (f32.store offset=4 (local.get $most) (call $sum (local.get $a)))
    (local.set $e (f32x4.splat
      (f32.div (local.get $scale) (f32.load offset=4 (local.get $most)))))
    (local.set $k (i32.const 0))
    (block $done (loop $more
      (br_if $done (i32.ge_u (local.get $k) (local.get $full)))
      (v128.store (i32.add (local.get $out) (local.get $k))
        (f32x4.mul (v128.load (i32.add (local.get $out) (local.get $k))) (local.get $e)))
      (local.set $k (i32.add (local.get $k) (i32.const 16)))
      (br $more)))
    (if (i32.lt_u (local.get $k) (local.get $n)) (then
      (call $storeTail (local.get $out)
        (f32x4.mul (v128.load (i32.add (local.get $out) (local.get $k))) (local.get $e))
        (local.get $k) (local.get $n)))))

  ;; $rows rows of any length in place. Where $causal is not 0, row i of each square table has i + 1
  ;; numbers, and the others become 0.
  (func (export "softmax") (param $x i32) (param $rows i32) (param $n i32) (param $causal i32)
                           (param $most i32)
    (local $end i32) (local $k i32)
    (loop $more
      (local.set $end (local.get $n))
      (if (local.get $causal) (then
        (local.set $k (local.tee $end (select (i32.const 4)
          (i32.add (local.get $k) (i32.const 4)) (i32.ge_u (local.get $k) (local.get $n)))))))
      (call $row (local.get $x) (local.get $x) (local.get $end) (f32.const 1) (local.get $most))
      (memory.fill (i32.add (local.get $x) (local.get $end)) (i32.const 0)
        (i32.sub (local.get $n) (local.get $end)))
      (local.set $x (i32.add (local.get $x) (local.get $n)))
      (br_if $more (local.tee $rows (i32.sub (local.get $rows) (i32.const 1))))))

  ;; d = p (d - Σ p d) for $rows rows of any length. Where $causal is not 0, row i of each square table
  ;; has i + 1 numbers, as in softmax, and the others become 0, whatever they were.
  (func (export "softmaxBackward") (param $p i32) (param $d i32) (param $rows i32) (param $n i32)
                                   (param $causal i32)
    (local $k i32) (local $row i32) (local $end i32) (local $full i32) (local $a v128)
    (loop $next
      (local.set $end (local.get $n))
      (if (local.get $causal) (then
        (local.set $row (local.tee $end (select (i32.const 4)
          (i32.add (local.get $row) (i32.const 4)) (i32.ge_u (local.get $row) (local.get $n)))))))
      (local.set $full (i32.and (local.get $end) (i32.const -16)))
      (local.set $a (v128.const i64x2 0 0))
      (local.set $k (i32.const 0))
      (block $done (loop $more
        (br_if $done (i32.ge_u (local.get $k) (local.get $full)))
        (local.set $a (f32x4.add (local.get $a) (f32x4.mul
          (v128.load (i32.add (local.get $p) (local.get $k)))
          (v128.load (i32.add (local.get $d) (local.get $k))))))
        (local.set $k (i32.add (local.get $k) (i32.const 16)))
        (br $more)))
      (if (i32.lt_u (local.get $k) (local.get $end)) (then
        (local.set $a (f32x4.add (local.get $a) (call $selectLanes
          (f32x4.mul (v128.load (i32.add (local.get $p) (local.get $k)))
            (v128.load (i32.add (local.get $d) (local.get $k))))
          (local.get $k) (local.get $end) (v128.const i64x2 0 0))))))
      (local.set $a (f32x4.splat (call $sum (local.get $a))))
      (local.set $k (i32.const 0))
      (block $done (loop $more
        (br_if $done (i32.ge_u (local.get $k) (local.get $full)))
        (v128.store (i32.add (local.get $d) (local.get $k)) (f32x4.mul
          (v128.load (i32.add (local.get $p) (local.get $k)))
          (f32x4.sub (v128.load (i32.add (local.get $d) (local.get $k))) (local.get $a))))
        (local.set $k (i32.add (local.get $k) (i32.const 16)))
        (br $more)))
      (if (i32.lt_u (local.get $k) (local.get $end)) (then
        (call $storeTail (local.get $d) (f32x4.mul
            (v128.load (i32.add (local.get $p) (local.get $k)))
            (f32x4.sub (v128.load (i32.add (local.get $d) (local.get $k))) (local.get $a)))
          (local.get $k) (local.get $end))))
      (memory.fill (i32.add (local.get $d) (local.get $end)) (i32.const 0)
        (i32.sub (local.get $n) (local.get $end)))
      (local.set $p (i32.add (local.get $p) (local.get $n)))
      (local.set $d (i32.add (local.get $d) (local.get $n)))
      (br_if $next (local.tee $rows (i32.sub (local.get $rows) (i32.const 1))))))

  ;; 1 / (1 + e⁻ᵘ) with u = 2√(2/π) (x + 0.044715 x³): GELU is x times this.
  (func $gate (param $x v128) (result v128)
    (f32x4.div (f32x4.splat (f32.const 1)) (f32x4.add (f32x4.splat (f32.const 1))
      (call $exp (f32x4.mul (local.get $x) (f32x4.add
        (f32x4.mul (f32x4.mul (local.get $x) (local.get $x))
          (f32x4.splat (f32.const -0.0713548162726))) ;; · 0.044715
        (f32x4.splat (f32.const -1.5957691216057308))))))))

  (func (export "gelu") (param $x i32) (param $out i32) (param $n i32)
    (local $k i32) (local $a v128)
    (loop $more
      (local.set $a (v128.load (i32.add (local.get $x) (local.get $k))))
      (v128.store (i32.add (local.get $out) (local.get $k))
        (f32x4.mul (local.get $a) (call $gate (local.get $a))))
      (br_if $more (i32.lt_u (local.tee $k (i32.add (local.get $k) (i32.const 16)))
        (local.get $n)))))

  ;; out = d (s + x s (1 - s) u′), s the gate of x.
  (func (export "geluBackward") (param $x i32) (param $d i32) (param $out i32) (param $n i32)
    (local $k i32) (local $a v128) (local $s v128)
    (loop $more
      (local.set $a (v128.load (i32.add (local.get $x) (local.get $k))))
      (local.set $s (call $gate (local.get $a)))
      (v128.store (i32.add (local.get $out) (local.get $k)) (f32x4.mul
        (v128.load (i32.add (local.get $d) (local.get $k)))
        (f32x4.add (local.get $s) (f32x4.mul
          (f32x4.mul (local.get $s) (f32x4.sub (f32x4.splat (f32.const 1)) (local.get $s)))
          (f32x4.mul (local.get $a) (f32x4.add
            (f32x4.mul (f32x4.mul (local.get $a) (local.get $a))
              (f32x4.splat (f32.const 0.2140644488179))) ;; · 3 · 0.044715
            (f32x4.splat (f32.const 1.5957691216057308))))))))
      (br_if $more (i32.lt_u (local.tee $k (i32.add (local.get $k) (i32.const 16)))
        (local.get $n)))))
