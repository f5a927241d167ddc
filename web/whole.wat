;; Products of whole numbers: x is int16, weights are int8 or int4, and both count in units of a scale.
;; int8 has a scale for each row; int4 has one for each group of 32 weights.

  (func $sum (param $a v128) (result f32)
    (f32.add
      (f32.add (f32x4.extract_lane 0 (local.get $a)) (f32x4.extract_lane 1 (local.get $a)))
      (f32.add (f32x4.extract_lane 2 (local.get $a)) (f32x4.extract_lane 3 (local.get $a)))))

  ;; K numbers at $x, a multiple of 16, times the rows of int8 at $u and $v, with scales at $us and $vs.
  (func $rowsInt8 (param $x i32) (param $K i32)
                  (param $u i32) (param $us i32) (param $v i32) (param $vs i32) (result f32 f32)
    (local $p v128) (local $q v128) (local $end i32)
    (local.set $end (i32.add (local.get $u) (local.get $K)))
    (loop $more
      (local.set $p (i32x4.add (local.get $p) (i32x4.dot_i16x8_s
        (v128.load (local.get $x)) (v128.load8x8_s (local.get $u)))))
      (local.set $q (i32x4.add (local.get $q) (i32x4.dot_i16x8_s
        (v128.load (local.get $x)) (v128.load8x8_s (local.get $v)))))
      (local.set $p (i32x4.add (local.get $p) (i32x4.dot_i16x8_s
        (v128.load offset=16 (local.get $x)) (v128.load8x8_s offset=8 (local.get $u)))))
      (local.set $q (i32x4.add (local.get $q) (i32x4.dot_i16x8_s
        (v128.load offset=16 (local.get $x)) (v128.load8x8_s offset=8 (local.get $v)))))
      (local.set $x (i32.add (local.get $x) (i32.const 32)))
      (local.set $u (i32.add (local.get $u) (i32.const 16)))
      (local.set $v (i32.add (local.get $v) (i32.const 16)))
      (br_if $more (i32.lt_u (local.get $u) (local.get $end))))
    (f32.mul (f32.load (local.get $us)) (call $sum (f32x4.convert_i32x4_s (local.get $p))))
    (f32.mul (f32.load (local.get $vs)) (call $sum (f32x4.convert_i32x4_s (local.get $q)))))

  ;; The same with rows of int4, K a multiple of 32. A group is eight int16 of four weights each: lane
  ;; i has weights i, 8 + i, 16 + i and 24 + i of the group, the first in its lowest bits. Moved to
  ;; the highest bits of the lane, with zeros below, a weight with its sign counts 4,096 times; four
  ;; products of 8,191 · 7 · 4,096 in pairs stay below 2³¹.
  (func $rowsInt4 (param $x i32) (param $K i32)
                  (param $u i32) (param $us i32) (param $v i32) (param $vs i32) (result f32 f32)
    (local $p v128) (local $q v128) (local $w v128) (local $z v128) (local $high v128) (local $end i32)
    (local $x0 v128) (local $x1 v128) (local $x2 v128) (local $x3 v128)
    (local.set $high (i16x8.splat (i32.const 0xf000)))
    (local.set $end (i32.add (local.get $u) (i32.shr_u (local.get $K) (i32.const 1))))
    (loop $more
      (local.set $x0 (v128.load (local.get $x)))
      (local.set $x1 (v128.load offset=16 (local.get $x)))
      (local.set $x2 (v128.load offset=32 (local.get $x)))
      (local.set $x3 (v128.load offset=48 (local.get $x)))
      (local.set $w (v128.load (local.get $u)))
      (local.set $z (v128.load (local.get $v)))
      (local.set $p (f32x4.add (local.get $p) (f32x4.mul (v128.load32_splat (local.get $us))
        (f32x4.convert_i32x4_s (i32x4.add
          (i32x4.add
            (i32x4.dot_i16x8_s (local.get $x0) (i16x8.shl (local.get $w) (i32.const 12)))
            (i32x4.dot_i16x8_s (local.get $x1)
              (v128.and (local.get $high) (i16x8.shl (local.get $w) (i32.const 8)))))
          (i32x4.add
            (i32x4.dot_i16x8_s (local.get $x2)
              (v128.and (local.get $high) (i16x8.shl (local.get $w) (i32.const 4))))
            (i32x4.dot_i16x8_s (local.get $x3) (v128.and (local.get $high) (local.get $w)))))))))
      (local.set $q (f32x4.add (local.get $q) (f32x4.mul (v128.load32_splat (local.get $vs))
        (f32x4.convert_i32x4_s (i32x4.add
          (i32x4.add
            (i32x4.dot_i16x8_s (local.get $x0) (i16x8.shl (local.get $z) (i32.const 12)))
            (i32x4.dot_i16x8_s (local.get $x1)
              (v128.and (local.get $high) (i16x8.shl (local.get $z) (i32.const 8)))))
          (i32x4.add
            (i32x4.dot_i16x8_s (local.get $x2)
              (v128.and (local.get $high) (i16x8.shl (local.get $z) (i32.const 4))))
            (i32x4.dot_i16x8_s (local.get $x3) (v128.and (local.get $high) (local.get $z)))))))))
      (local.set $x (i32.add (local.get $x) (i32.const 64)))
      (local.set $u (i32.add (local.get $u) (i32.const 16)))
      (local.set $v (i32.add (local.get $v) (i32.const 16)))
      (local.set $us (i32.add (local.get $us) (i32.const 4)))
      (local.set $vs (i32.add (local.get $vs) (i32.const 4)))
      (br_if $more (i32.lt_u (local.get $u) (local.get $end))))
    (f32.mul (f32.const 0x1p-12) (call $sum (local.get $p)))
    (f32.mul (f32.const 0x1p-12) (call $sum (local.get $q))))

  ;; out[t, r] = $xs[t] · (x[t] · w[r]) + b[r] for T tokens and R rows of $step bytes with scales of
  ;; $wss bytes at $ws. Rows of w are taken two at a time, half of w apart, because memory brings two far
  ;; streams faster than one; where R is odd, the last one is taken twice.
  (func (export "productWhole") (param $x i32) (param $xs i32) (param $w i32) (param $step i32)
                                (param $ws i32) (param $wss i32) (param $b i32) (param $out i32)
                                (param $T i32) (param $K i32) (param $R i32)
    (local $r i32) (local $s i32) (local $t i32) (local $y i32) (local $o i32) (local $half i32)
    (local $p f32) (local $q f32) (local $unit f32) (local $bp f32) (local $bq f32)
    (local.set $half (i32.shr_u (i32.add (local.get $R) (i32.const 1)) (i32.const 1)))
    (loop $rows
      (local.set $s (i32.add (local.get $r) (local.get $half)))
      (local.set $s (select (local.get $s) (local.get $r) (i32.lt_u (local.get $s) (local.get $R))))
      (if (local.get $b) (then
        (local.set $bp (f32.load (i32.add (local.get $b) (i32.shl (local.get $r) (i32.const 2)))))
        (local.set $bq (f32.load (i32.add (local.get $b) (i32.shl (local.get $s) (i32.const 2)))))))
      (local.set $t (i32.const 0))
      (local.set $y (local.get $x))
      (local.set $o (local.get $out))
      (loop $tokens
        (local.get $y)
        (local.get $K)
        (i32.add (local.get $w) (i32.mul (local.get $r) (local.get $step)))
        (i32.add (local.get $ws) (i32.mul (local.get $r) (local.get $wss)))
        (i32.add (local.get $w) (i32.mul (local.get $s) (local.get $step)))
        (i32.add (local.get $ws) (i32.mul (local.get $s) (local.get $wss)))
        (if (param i32 i32 i32 i32 i32 i32) (result f32 f32)
          (i32.eq (local.get $step) (local.get $K))
          (then (call $rowsInt8))
          (else (call $rowsInt4)))
        (local.set $q)
        (local.set $p)
        (local.set $unit (f32.load (i32.add (local.get $xs) (i32.shl (local.get $t) (i32.const 2)))))
        (f32.store (i32.add (local.get $o) (i32.shl (local.get $r) (i32.const 2)))
          (f32.add (f32.mul (local.get $unit) (local.get $p)) (local.get $bp)))
        (f32.store (i32.add (local.get $o) (i32.shl (local.get $s) (i32.const 2)))
          (f32.add (f32.mul (local.get $unit) (local.get $q)) (local.get $bq)))
        (local.set $y (i32.add (local.get $y) (i32.shl (local.get $K) (i32.const 1))))
        (local.set $o (i32.add (local.get $o) (i32.shl (local.get $R) (i32.const 2))))
        (br_if $tokens (i32.lt_u (local.tee $t (i32.add (local.get $t) (i32.const 1)))
          (local.get $T))))
      (br_if $rows (i32.lt_u (local.tee $r (i32.add (local.get $r) (i32.const 1)))
        (local.get $half)))))
