"""How many blocks does a chain need?"""

ORDER = 60
KIND = "stretch"
LEVEL = 3
RANK = "extra"
MINUTES = 15

TASK = r"""
In the chapter two blocks read a text such as `c 5 a 0 f 2 a` and answer with the number after a letter. Now the text has a chain in it:

`a c c 4 f 2 a`

The pairs are a → c, c → 4 and f → 2. For the question a the answer is 4, from a to c and from c to 4.

Describe block by block which token looks where and what it notes, for blocks with one head each. How many blocks does your plan need? How many for a chain with one more link? This cannot be checked by a program; compare with the solution.
"""

HINTS = (
    "Block 0 can do what it does in the chapter, where the second token of each pair looks one position back and notes the letter there.",
    "In block 1 the question can find the position that carries the note a. Which token is there, and what can the question take from it?",
)

SOLUTION = r"""
A plan with three blocks:

- **Block 0.** The second token of each pair looks one position back and notes the letter before it. Now c (at position 1) carries the note a, 4 carries the note c, and 2 the note f. This is the first block of the chapter.
- **Block 1.** The question, a, looks for the position with the note a. It finds c there, and takes c as the value. The last position now carries "a was asked, and it leads to c".
- **Block 2.** The question looks for the position with the note c. It finds 4, which is the answer.

Each link costs one more block, because the question must know c before it can look for the note c. Within one block it cannot, because all queries are computed from the stream as it was *before* the attention of this block. So this plan needs L + 1 blocks for L links.

Is there a shorter way? Other positions can work ahead while the question waits. In block 1, for instance, 4 can look back at the position of its own note, c, and copy the note a that c carries. Then 4 carries both a and c, and the question finds it in block 2. For two links this saves nothing, but for long chains such notes can double their reach with every block. Whether training finds any of these plans is another question, which only an experiment can answer.
"""
