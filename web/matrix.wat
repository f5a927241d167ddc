;; Products of matrices, of any size: c[i, j] = d[i, j] + scale · Σ a[i, k] b[k, j].
;;
;; Eight columns of b at a time are copied into a panel, k after k, which stays in the nearest
;; cache. Four rows of a by these eight columns are a tile of 32 sums in registers, so that each
;; number, once loaded, is used four or eight times. As a and b may be stored by rows or by columns,
;; one kernel serves a prompt, the forward pass and the backward pass: x Wᵀ, dy W and dyᵀ x. Each sum
;; is taken in the order 0 … K - 1, with no relaxed instruction: it is the same on every machine.

  ;; Four rows of K numbers become four columns, with $step bytes from row to row.
  (func $transposeFour (param $a i32) (param $b i32) (param $c i32) (param $d i32) (param $K i32)
                  (param $to i32) (param $step i32)
    (local $p v128) (local $q v128) (local $r v128) (local $s v128) (local $t v128)
    (block $done (loop $more
      (br_if $done (i32.lt_u (local.get $K) (i32.const 4)))
      (local.set $p (v128.load (local.get $a)))
      (local.set $q (v128.load (local.get $b)))
      (local.set $r (v128.load (local.get $c)))
      (local.set $s (v128.load (local.get $d)))
      (local.set $t (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
        (local.get $p) (local.get $q))) ;; p0 q0 p1 q1
      (local.set $q (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31
        (local.get $p) (local.get $q))) ;; p2 q2 p3 q3
      (local.set $p (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
        (local.get $r) (local.get $s)))
      (local.set $s (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31
        (local.get $r) (local.get $s)))
      (v128.store (local.get $to) (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
        (local.get $t) (local.get $p)))
      (local.set $to (i32.add (local.get $to) (local.get $step)))
      (v128.store (local.get $to) (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31
        (local.get $t) (local.get $p)))
      (local.set $to (i32.add (local.get $to) (local.get $step)))
      (v128.store (local.get $to) (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
        (local.get $q) (local.get $s)))
      (local.set $to (i32.add (local.get $to) (local.get $step)))
      (v128.store (local.get $to) (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31
        (local.get $q) (local.get $s)))
      (local.set $to (i32.add (local.get $to) (local.get $step)))
      (local.set $a (i32.add (local.get $a) (i32.const 16)))
      (local.set $b (i32.add (local.get $b) (i32.const 16)))
      (local.set $c (i32.add (local.get $c) (i32.const 16)))
      (local.set $d (i32.add (local.get $d) (i32.const 16)))
      (local.set $K (i32.sub (local.get $K) (i32.const 4)))
      (br $more)))
    (block $done (loop $more
      (br_if $done (i32.eqz (local.get $K)))
      (f32.store (local.get $to) (f32.load (local.get $a)))
      (f32.store offset=4 (local.get $to) (f32.load (local.get $b)))
      (f32.store offset=8 (local.get $to) (f32.load (local.get $c)))
      (f32.store offset=12 (local.get $to) (f32.load (local.get $d)))
      (local.set $a (i32.add (local.get $a) (i32.const 4)))
      (local.set $b (i32.add (local.get $b) (i32.const 4)))
      (local.set $c (i32.add (local.get $c) (i32.const 4)))
      (local.set $d (i32.add (local.get $d) (i32.const 4)))
      (local.set $to (i32.add (local.get $to) (local.get $step)))
      (local.set $K (i32.sub (local.get $K) (i32.const 1)))
      (br $more))))

  ;; The same for rows $row … $row + 3 of x; those past the last are the last one again.
  (func $transposeRows (param $x i32) (param $xs i32) (param $row i32) (param $rows i32) (param $K i32)
                  (param $to i32) (param $step i32)
    (local $last i32)
    (local.set $last (i32.sub (local.get $rows) (i32.const 1)))
    (call $transposeFour
      (call $rowAt (local.get $x) (local.get $xs) (local.get $row) (local.get $last))
      (call $rowAt (local.get $x) (local.get $xs) (i32.add (local.get $row) (i32.const 1))
        (local.get $last))
      (call $rowAt (local.get $x) (local.get $xs) (i32.add (local.get $row) (i32.const 2))
        (local.get $last))
      (call $rowAt (local.get $x) (local.get $xs) (i32.add (local.get $row) (i32.const 3))
        (local.get $last))
      (local.get $K) (local.get $to) (local.get $step)))

  (func $rowAt (param $x i32) (param $xs i32) (param $row i32) (param $last i32) (result i32)
    (i32.add (local.get $x) (i32.mul (local.get $xs)
      (select (local.get $row) (local.get $last)
        (i32.lt_u (local.get $row) (local.get $last))))))

  ;; Up to eight rows of K float16 as float32, $step bytes apart.
  (func $widenRows (param $x i32) (param $xs i32) (param $rows i32) (param $K i32)
                   (param $to i32) (param $step i32)
    (local $row i32)
    (loop $more
      (call $widen (local.get $x) (local.get $to) (i32.shl (local.get $K) (i32.const 2)))
      (local.set $x (i32.add (local.get $x) (local.get $xs)))
      (local.set $to (i32.add (local.get $to) (local.get $step)))
      (br_if $more (i32.lt_u (local.tee $row (i32.add (local.get $row) (i32.const 1)))
        (select (local.get $rows) (i32.const 8) (i32.lt_u (local.get $rows) (i32.const 8)))))))

  ;; K times eight numbers that stand side by side, with $bk bytes from k to k.
  (func $copyEight (param $b i32) (param $bk i32) (param $K i32) (param $to i32)
    (loop $more
      (v128.store (local.get $to) (v128.load (local.get $b)))
      (v128.store offset=16 (local.get $to) (v128.load offset=16 (local.get $b)))
      (local.set $b (i32.add (local.get $b) (local.get $bk)))
      (local.set $to (i32.add (local.get $to) (i32.const 32)))
      (br_if $more (local.tee $K (i32.sub (local.get $K) (i32.const 1))))))

  ;; A tile: four rows of a by a panel. Where $rows or $columns end before it, fewer sums are stored.
  (func $tile (param $a0 i32) (param $as i32) (param $ak i32) (param $b i32) (param $K i32)
              (param $d i32) (param $ds i32) (param $c i32) (param $cs i32) (param $scale f32)
              (param $rows i32) (param $columns i32)
    (local $a1 i32) (local $a2 i32) (local $a3 i32)
    (local $l v128) (local $r v128) (local $x v128)
    (local $l0 v128) (local $l1 v128) (local $l2 v128) (local $l3 v128)
    (local $r0 v128) (local $r1 v128) (local $r2 v128) (local $r3 v128)
    ;; Past the last row it is taken again.
    (local.set $a1 (i32.add (local.get $a0)
      (select (local.get $as) (i32.const 0) (i32.gt_u (local.get $rows) (i32.const 1)))))
    (local.set $a2 (i32.add (local.get $a1)
      (select (local.get $as) (i32.const 0) (i32.gt_u (local.get $rows) (i32.const 2)))))
    (local.set $a3 (i32.add (local.get $a2)
      (select (local.get $as) (i32.const 0) (i32.gt_u (local.get $rows) (i32.const 3)))))
    (block $done (loop $more
      (br_if $done (i32.eqz (local.get $K)))
      (local.set $l (v128.load (local.get $b)))
      (local.set $r (v128.load offset=16 (local.get $b)))
      (local.set $x (v128.load32_splat (local.get $a0)))
      (local.set $l0 (f32x4.add (local.get $l0) (f32x4.mul (local.get $x) (local.get $l))))
      (local.set $r0 (f32x4.add (local.get $r0) (f32x4.mul (local.get $x) (local.get $r))))
      (local.set $x (v128.load32_splat (local.get $a1)))
      (local.set $l1 (f32x4.add (local.get $l1) (f32x4.mul (local.get $x) (local.get $l))))
      (local.set $r1 (f32x4.add (local.get $r1) (f32x4.mul (local.get $x) (local.get $r))))
      (local.set $x (v128.load32_splat (local.get $a2)))
      (local.set $l2 (f32x4.add (local.get $l2) (f32x4.mul (local.get $x) (local.get $l))))
      (local.set $r2 (f32x4.add (local.get $r2) (f32x4.mul (local.get $x) (local.get $r))))
      (local.set $x (v128.load32_splat (local.get $a3)))
      (local.set $l3 (f32x4.add (local.get $l3) (f32x4.mul (local.get $x) (local.get $l))))
      (local.set $r3 (f32x4.add (local.get $r3) (f32x4.mul (local.get $x) (local.get $r))))
      (local.set $a0 (i32.add (local.get $a0) (local.get $ak)))
      (local.set $a1 (i32.add (local.get $a1) (local.get $ak)))
      (local.set $a2 (i32.add (local.get $a2) (local.get $ak)))
      (local.set $a3 (i32.add (local.get $a3) (local.get $ak)))
      (local.set $b (i32.add (local.get $b) (i32.const 32)))
      (local.set $K (i32.sub (local.get $K) (i32.const 1)))
      (br $more)))
    (local.set $x (f32x4.splat (local.get $scale)))
    (call $store (f32x4.mul (local.get $l0) (local.get $x))
      (f32x4.mul (local.get $r0) (local.get $x)) (local.get $d) (local.get $c) (local.get $columns))
    (br_if 0 (i32.lt_u (local.get $rows) (i32.const 2)))
    (local.set $c (i32.add (local.get $c) (local.get $cs)))
    (local.set $d (i32.add (local.get $d) (local.get $ds)))
    (call $store (f32x4.mul (local.get $l1) (local.get $x))
      (f32x4.mul (local.get $r1) (local.get $x)) (local.get $d) (local.get $c) (local.get $columns))
    (br_if 0 (i32.lt_u (local.get $rows) (i32.const 3)))
    (local.set $c (i32.add (local.get $c) (local.get $cs)))
    (local.set $d (i32.add (local.get $d) (local.get $ds)))
    (call $store (f32x4.mul (local.get $l2) (local.get $x))
      (f32x4.mul (local.get $r2) (local.get $x)) (local.get $d) (local.get $c) (local.get $columns))
    (br_if 0 (i32.lt_u (local.get $rows) (i32.const 4)))
    (local.set $c (i32.add (local.get $c) (local.get $cs)))
    (local.set $d (i32.add (local.get $d) (local.get $ds)))
    (call $store (f32x4.mul (local.get $l3) (local.get $x))
      (f32x4.mul (local.get $r3) (local.get $x)) (local.get $d) (local.get $c) (local.get $columns)))

  ;; Eight sums, added to the numbers at $d if that is not 0; of them $columns are stored.
  (func $store (param $l v128) (param $r v128) (param $d i32) (param $c i32) (param $columns i32)
    (if (local.get $d) (then
      (local.set $l (f32x4.add (local.get $l) (v128.load (local.get $d))))
      (local.set $r (f32x4.add (local.get $r) (v128.load offset=16 (local.get $d))))))
    (if (i32.ge_u (local.get $columns) (i32.const 8)) (then
      (v128.store (local.get $c) (local.get $l))
      (v128.store offset=16 (local.get $c) (local.get $r))
      (return)))
    (if (i32.ge_u (local.get $columns) (i32.const 4)) (then
      (v128.store (local.get $c) (local.get $l))
      (local.set $l (local.get $r))
      (local.set $c (i32.add (local.get $c) (i32.const 16)))
      (local.set $columns (i32.sub (local.get $columns) (i32.const 4)))))
    (block $done (loop $more
      (br_if $done (i32.eqz (local.get $columns)))
      (f32.store (local.get $c) (f32x4.extract_lane 0 (local.get $l)))
      (local.set $l (i8x16.shuffle 4 5 6 7 8 9 10 11 12 13 14 15 0 1 2 3
        (local.get $l) (local.get $l)))
      (local.set $c (i32.add (local.get $c) (i32.const 4)))
      (local.set $columns (i32.sub (local.get $columns) (i32.const 1)))
      (br $more))))

  ;; a is (M, K), and a[i, k] is $as · i + $ak · k bytes from a. b is (K, N), and b[k, j] is
  ;; $bk · k + $bj · j bytes from b, where one of the two steps is 4; where $half is not 0, b is float16,
  ;; k after k, and $bk is not used. d[i, j] is $ds · i + 4j bytes from d; d may be 0, nothing. Rows of c are $cs
  ;; bytes apart. At $panel there is room for 8K numbers; with $half for twice as many, and 32 more.
  ;; Under a causal mask half of a table is zeros, and $causal says which products need not be made:
  ;; 1, those of c above its diagonal; 2, those with zeros of a above its diagonal; 3, those with
  ;; zeros of a below it; 4, those with zeros of b above it.
  (func (export "product") (param $a i32) (param $as i32) (param $ak i32)
      (param $b i32) (param $bk i32) (param $bj i32) (param $half i32)
      (param $M i32) (param $N i32) (param $K i32) (param $d i32) (param $ds i32)
      (param $c i32) (param $cs i32) (param $scale f32) (param $causal i32) (param $panel i32)
    (local $i i32) (local $j i32) (local $left i32) (local $first i32) (local $count i32)
    (local $w i32) (local $ws i32) (local $ci i32) (local $di i32)
    (if (i32.eqz (local.get $d)) (then (local.set $ds (i32.const 0))))
    (loop $columns
      (local.set $left (i32.sub (local.get $N) (local.get $j)))
      (if (i32.and (i32.eq (local.get $bj) (i32.const 4)) (i32.eqz (local.get $half)))
        (then (call $copyEight (local.get $b) (local.get $bk) (local.get $K) (local.get $panel)))
        (else
          (local.set $w (local.get $b))
          (local.set $ws (local.get $bj))
          (if (local.get $half) (then
            (local.set $w (i32.add (local.get $panel) (i32.shl (local.get $K) (i32.const 5))))
            (local.set $ws (i32.and (i32.const -16)
              (i32.add (i32.shl (local.get $K) (i32.const 2)) (i32.const 15))))
            (call $widenRows (local.get $b) (local.get $bj) (local.get $left) (local.get $K)
              (local.get $w) (local.get $ws))))
          (call $transposeRows (local.get $w) (local.get $ws) (i32.const 0) (local.get $left)
            (local.get $K) (local.get $panel) (i32.const 32))
          (call $transposeRows (local.get $w) (local.get $ws) (i32.const 4) (local.get $left)
            (local.get $K) (i32.add (local.get $panel) (i32.const 16)) (i32.const 32))))
      (local.set $i (select (local.get $j) (i32.const 0) (i32.eq (local.get $causal) (i32.const 1))))
      (local.set $ci (i32.add (local.get $c) (i32.mul (local.get $cs) (local.get $i))))
      (local.set $di (i32.add (local.get $d) (i32.mul (local.get $ds) (local.get $i))))
      (local.set $count (local.get $K))
      (if (i32.eq (local.get $causal) (i32.const 4)) (then
        (local.set $first (local.get $j))
        (local.set $count (i32.sub (local.get $K) (local.get $j)))))
      (block $done (loop $rows
        (br_if $done (i32.ge_u (local.get $i) (local.get $M)))
        (if (i32.eq (local.get $causal) (i32.const 2)) (then
          (local.set $count (i32.add (local.get $i) (i32.const 4)))
          (local.set $count (select (local.get $count) (local.get $K)
            (i32.lt_u (local.get $count) (local.get $K))))))
        (if (i32.eq (local.get $causal) (i32.const 3)) (then
          (local.set $first (local.get $i))
          (local.set $count (i32.sub (local.get $K) (local.get $i)))))
        (call $tile
          (i32.add (i32.add (local.get $a) (i32.mul (local.get $as) (local.get $i)))
            (i32.mul (local.get $ak) (local.get $first)))
          (local.get $as) (local.get $ak)
          (i32.add (local.get $panel) (i32.shl (local.get $first) (i32.const 5)))
          (local.get $count) (local.get $di) (local.get $ds) (local.get $ci) (local.get $cs)
          (local.get $scale) (i32.sub (local.get $M) (local.get $i)) (local.get $left))
        (local.set $ci (i32.add (local.get $ci) (i32.shl (local.get $cs) (i32.const 2))))
        (local.set $di (i32.add (local.get $di) (i32.shl (local.get $ds) (i32.const 2))))
        (local.set $i (i32.add (local.get $i) (i32.const 4)))
        (br $rows)))
      (local.set $b (i32.add (local.get $b) (i32.shl (local.get $bj) (i32.const 3))))
      (local.set $c (i32.add (local.get $c) (i32.const 32)))
      (if (local.get $d) (then (local.set $d (i32.add (local.get $d) (i32.const 32)))))
      (br_if $columns (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 8)))
        (local.get $N)))))
