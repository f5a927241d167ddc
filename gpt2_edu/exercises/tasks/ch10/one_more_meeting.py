"""How many blocks does a chain need?"""

ORDER = 60
KIND = "stretch"
LEVEL = 3
MINUTES = 15

TASK = r"""
In the chapter two blocks answer a text such as `c 5 a 0 f 2 a`: the number beside a letter. Now the text has a chain in it:

`a c c 4 f 2 a`

The pairs are a → c, c → 4 and f → 2. Asked for a, the answer is 4: from a to c, and from c to 4.

Describe block by block who looks at whom and what it notes, for blocks with one head each. With how many blocks does your plan work? How many for a chain with one link more? This cannot be checked by a program; compare with the solution.
"""

HINTS = (
    "Block 0 can do what it does in the chapter: the second of each pair looks one place back and notes the letter there.",
    "In block 1 the question can find the place that carries the note a. What stands there, and what can it take along?",
)

SOLUTION = r"""
A plan with three blocks:

- **Block 0.** The second of each pair looks one place back and notes the letter before it. Now c (at position 1) carries the note a, 4 carries the note c, and 2 the note f. This is the first block of the chapter.
- **Block 1.** The question, a, looks for the place with the note a. It finds c, and takes c along as its value. The last position now carries "a was asked, and it leads to c".
- **Block 2.** The question looks for the place with the note c. It finds 4. That is the answer.

Each link costs one more block, because the question must know c before it can look for the note c. Within one block it cannot: all queries are made from what the stream held *before* the attention of this block. So this plan needs L + 1 blocks for L links.

Is there a shorter way? Other positions can work ahead while the question waits. In block 1, for instance, 4 can look back at the place that holds its own note, c, and take over the note a that c carries. Then 4 carries both a and c, and the question finds it in block 2. For two links this saves nothing, but for long chains such notes can double their reach with every block. And what a plan needs is not yet what training finds; that only an experiment shows.
"""
