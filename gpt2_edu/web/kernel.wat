;; The one loop that takes nearly all the time: out[t, r] = x[t] · w[r] + b[r].
;;
;; x has T rows of K numbers, w has R rows `ws` bytes apart, out is (T, R); b may be 0, no bias.
;; Where $scratch is not 0, w is float16: two rows at a time are written there as float32.
;; Four numbers are multiplied at once. Rows are taken in tiles of 4 tokens × 2 outputs, so that a
;; number once loaded is used several times; what is left over, 1 token × 2 outputs at a time.
;; Addresses and strides are in bytes.
(module
  (memory (export "memory") 1)

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

  ;; 1 token × 2 outputs, two numbers of four in flight for each.
  (func $pair (param $x i32) (param $w i32) (param $v i32) (param $K i32)
              (param $b i32) (param $c i32) (param $out i32)
    (local $k i32) (local $end i32) (local $p v128) (local $q v128) (local $y v128)
    (local $p2 v128) (local $q2 v128)
    (local.set $end (i32.and (local.get $K) (i32.const -32)))
    (block $done (loop $more
      (br_if $done (i32.ge_u (local.get $k) (local.get $end)))
      (local.set $y (v128.load (i32.add (local.get $x) (local.get $k))))
      (local.set $p (f32x4.add (local.get $p) (f32x4.mul (local.get $y)
        (v128.load (i32.add (local.get $w) (local.get $k))))))
      (local.set $q (f32x4.add (local.get $q) (f32x4.mul (local.get $y)
        (v128.load (i32.add (local.get $v) (local.get $k))))))
      (local.set $y (v128.load offset=16 (i32.add (local.get $x) (local.get $k))))
      (local.set $p2 (f32x4.add (local.get $p2) (f32x4.mul (local.get $y)
        (v128.load offset=16 (i32.add (local.get $w) (local.get $k))))))
      (local.set $q2 (f32x4.add (local.get $q2) (f32x4.mul (local.get $y)
        (v128.load offset=16 (i32.add (local.get $v) (local.get $k))))))
      (local.set $k (i32.add (local.get $k) (i32.const 32)))
      (br $more)))
    (call $put (f32x4.add (local.get $p) (local.get $p2)) (local.get $x) (local.get $w)
      (local.get $k) (local.get $K) (local.get $b) (local.get $out))
    (if (i32.ne (local.get $v) (local.get $w)) (then
      (call $put (f32x4.add (local.get $q) (local.get $q2)) (local.get $x) (local.get $v)
        (local.get $k) (local.get $K) (local.get $c) (i32.add (local.get $out) (i32.const 4))))))

  ;; 4 tokens × 2 outputs; the tokens' x are K bytes apart, their outputs `os` bytes.
  (func $tile (param $x i32) (param $w i32) (param $v i32) (param $K i32)
              (param $b i32) (param $c i32) (param $out i32) (param $os i32)
    (local $k i32) (local $end i32) (local $p v128) (local $q v128) (local $y v128)
    (local $x1 i32) (local $x2 i32) (local $x3 i32)
    (local $a0 v128) (local $a1 v128) (local $a2 v128) (local $a3 v128)
    (local $b0 v128) (local $b1 v128) (local $b2 v128) (local $b3 v128)
    (local.set $x1 (i32.add (local.get $x) (local.get $K)))
    (local.set $x2 (i32.add (local.get $x1) (local.get $K)))
    (local.set $x3 (i32.add (local.get $x2) (local.get $K)))
    (local.set $end (i32.and (local.get $K) (i32.const -16)))
    (block $done (loop $more
      (br_if $done (i32.ge_u (local.get $k) (local.get $end)))
      (local.set $p (v128.load (i32.add (local.get $w) (local.get $k))))
      (local.set $q (v128.load (i32.add (local.get $v) (local.get $k))))
      (local.set $y (v128.load (i32.add (local.get $x) (local.get $k))))
      (local.set $a0 (f32x4.add (local.get $a0) (f32x4.mul (local.get $y) (local.get $p))))
      (local.set $b0 (f32x4.add (local.get $b0) (f32x4.mul (local.get $y) (local.get $q))))
      (local.set $y (v128.load (i32.add (local.get $x1) (local.get $k))))
      (local.set $a1 (f32x4.add (local.get $a1) (f32x4.mul (local.get $y) (local.get $p))))
      (local.set $b1 (f32x4.add (local.get $b1) (f32x4.mul (local.get $y) (local.get $q))))
      (local.set $y (v128.load (i32.add (local.get $x2) (local.get $k))))
      (local.set $a2 (f32x4.add (local.get $a2) (f32x4.mul (local.get $y) (local.get $p))))
      (local.set $b2 (f32x4.add (local.get $b2) (f32x4.mul (local.get $y) (local.get $q))))
      (local.set $y (v128.load (i32.add (local.get $x3) (local.get $k))))
      (local.set $a3 (f32x4.add (local.get $a3) (f32x4.mul (local.get $y) (local.get $p))))
      (local.set $b3 (f32x4.add (local.get $b3) (f32x4.mul (local.get $y) (local.get $q))))
      (local.set $k (i32.add (local.get $k) (i32.const 16)))
      (br $more)))
    (call $put (local.get $a0) (local.get $x) (local.get $w) (local.get $k) (local.get $K)
      (local.get $b) (local.get $out))
    (call $put (local.get $b0) (local.get $x) (local.get $v) (local.get $k) (local.get $K)
      (local.get $c) (i32.add (local.get $out) (i32.const 4)))
    (local.set $out (i32.add (local.get $out) (local.get $os)))
    (call $put (local.get $a1) (local.get $x1) (local.get $w) (local.get $k) (local.get $K)
      (local.get $b) (local.get $out))
    (call $put (local.get $b1) (local.get $x1) (local.get $v) (local.get $k) (local.get $K)
      (local.get $c) (i32.add (local.get $out) (i32.const 4)))
    (local.set $out (i32.add (local.get $out) (local.get $os)))
    (call $put (local.get $a2) (local.get $x2) (local.get $w) (local.get $k) (local.get $K)
      (local.get $b) (local.get $out))
    (call $put (local.get $b2) (local.get $x2) (local.get $v) (local.get $k) (local.get $K)
      (local.get $c) (i32.add (local.get $out) (i32.const 4)))
    (local.set $out (i32.add (local.get $out) (local.get $os)))
    (call $put (local.get $a3) (local.get $x3) (local.get $w) (local.get $k) (local.get $K)
      (local.get $b) (local.get $out))
    (call $put (local.get $b3) (local.get $x3) (local.get $v) (local.get $k) (local.get $K)
      (local.get $c) (i32.add (local.get $out) (i32.const 4))))

  ;; K bytes of float32 at $to from as many float16 at $w, four at once. The bits of exponent and
  ;; fraction, moved into their places, are the number over 2 to the power of 112.
  (func $widen (param $w i32) (param $to i32) (param $K i32)
    (local $end i32) (local $h v128)
    (local.set $end (i32.add (local.get $to) (local.get $K)))
    (loop $more
      (local.set $h (v128.load16x4_u (local.get $w)))
      (v128.store (local.get $to) (v128.or
        (i32x4.shl (v128.and (local.get $h) (i32x4.splat (i32.const 0x8000))) (i32.const 16))
        (f32x4.mul (f32x4.splat (f32.const 0x1p112))
          (i32x4.shl (v128.and (local.get $h) (i32x4.splat (i32.const 0x7fff))) (i32.const 13)))))
      (local.set $w (i32.add (local.get $w) (i32.const 8)))
      (local.set $to (i32.add (local.get $to) (i32.const 16)))
      (br_if $more (i32.lt_u (local.get $to) (local.get $end)))))

  (func (export "product") (param $x i32) (param $w i32) (param $b i32) (param $out i32)
                           (param $T i32) (param $K i32) (param $R i32) (param $ws i32)
                           (param $scratch i32)
    (local $r i32) (local $t i32) (local $u i32) (local $v i32) (local $c i32) (local $two i32)
    (local $kb i32) (local $os i32)
    (local.set $kb (i32.shl (local.get $K) (i32.const 2)))
    (local.set $os (i32.shl (local.get $R) (i32.const 2)))
    (block $done (loop $rows
      (br_if $done (i32.ge_u (local.get $r) (local.get $R)))
      (local.set $two (i32.lt_u (i32.add (local.get $r) (i32.const 1)) (local.get $R)))
      (local.set $u (local.get $w))
      (local.set $v (i32.add (local.get $w) (i32.mul (local.get $two) (local.get $ws))))
      (if (local.get $scratch) (then
        (call $widen (local.get $u) (local.get $scratch) (local.get $kb))
        (local.set $u (local.get $scratch))
        (if (local.get $two) (then
          (call $widen (local.get $v) (i32.add (i32.add (local.get $u) (local.get $kb))
            (i32.const 16)) (local.get $kb))))
        (local.set $v (i32.add (local.get $u) (i32.mul (local.get $two)
          (i32.add (local.get $kb) (i32.const 16)))))))
      (local.set $c (i32.add (local.get $b) (i32.const 4)))
      (if (i32.eqz (local.get $b)) (then (local.set $c (i32.const 0))))
      (local.set $t (i32.const 0))
      (block $end (loop $tokens
        (br_if $end (i32.ge_u (local.get $t) (local.get $T)))
        (if (i32.and (local.get $two)
                     (i32.le_u (i32.add (local.get $t) (i32.const 4)) (local.get $T)))
          (then
            (call $tile (i32.add (local.get $x) (i32.mul (local.get $t) (local.get $kb)))
              (local.get $u) (local.get $v) (local.get $kb) (local.get $b) (local.get $c)
              (i32.add (local.get $out) (i32.add (i32.shl (local.get $r) (i32.const 2))
                (i32.mul (local.get $t) (local.get $os)))) (local.get $os))
            (local.set $t (i32.add (local.get $t) (i32.const 4))))
          (else
            (call $pair (i32.add (local.get $x) (i32.mul (local.get $t) (local.get $kb)))
              (local.get $u) (local.get $v) (local.get $kb) (local.get $b) (local.get $c)
              (i32.add (local.get $out) (i32.add (i32.shl (local.get $r) (i32.const 2))
                (i32.mul (local.get $t) (local.get $os)))))
            (local.set $t (i32.add (local.get $t) (i32.const 1)))))
        (br $tokens)))
      (local.set $w (i32.add (local.get $w) (i32.shl (local.get $ws) (i32.const 1))))
      (if (local.get $b) (then (local.set $b (i32.add (local.get $b) (i32.const 8)))))
      (local.set $r (i32.add (local.get $r) (i32.const 2)))
      (br $rows))))
)
