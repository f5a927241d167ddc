// "My progress": marks in the list what is done; keeps it in a file, takes a file in, prints it.

"use strict";

{
  const progress = globalThis.gpt2Progress;
  const LARGEST = 5e6; // bytes; a record of every exercise has a hundredth of it
  const desk = document.querySelector(".desk");
  const find = (name) => desk.querySelector(`.${name}`);
  const say = (text) => {
    find("said").textContent = text;
  };
  const stages = [...document.querySelectorAll(".stage")];

  const marked = (item) => {
    const mark = document.createElement("span");
    mark.className = "mark";
    item.prepend(mark);
    return mark;
  };
  const marks = new Map(
    stages
      .flatMap((stage) => [...stage.querySelectorAll("li")])
      .map((item) => [item, marked(item)]),
  );

  function show() {
    const { passed, questions } = progress.read();
    let [done, all, right, asked] = [0, 0, 0, 0];
    for (const stage of stages) {
      const tasks = [...stage.querySelectorAll("li[data-exercise]")];
      const open = [...stage.querySelectorAll("li[data-question]")];
      for (const item of tasks) {
        const entry = passed[item.dataset.exercise];
        marks.get(item).textContent = entry ? `✓ ${entry.on.slice(0, 10)} ` : "";
        item.classList.toggle("done", Boolean(entry));
      }
      for (const item of open) {
        const entry = questions[item.dataset.question];
        const words = entry?.first ? "✓ right at once: " : "✓ right: ";
        marks.get(item).textContent = entry ? (entry.right ? words : "not yet right: ") : "";
        item.classList.toggle("done", Boolean(entry?.right));
      }
      const count = (items) => items.filter((item) => item.matches(".done")).length;
      const [tasksDone, openDone] = [count(tasks), count(open)];
      stage.querySelector(".sum").textContent =
        `${tasksDone} of ${tasks.length} exercises, ${openDone} of ${open.length} questions`;
      [done, all, right, asked] = [
        done + tasksDone,
        all + tasks.length,
        right + openDone,
        asked + open.length,
      ];
    }
    find("total").textContent =
      `${done} of ${all} exercises done, ${right} of ${asked} questions right.`;
    find("trouble").textContent = progress.problem();
  }

  // ---- Files

  async function take(file) {
    if (!file) return;
    if (file.size > LARGEST) {
      say(`${file.name} cannot be used: a progress file is much smaller. Nothing was changed.`);
      return;
    }
    try {
      const added = progress.merge(await file.text());
      const things = added === 1 ? "One entry" : `${added} entries`;
      say(
        added
          ? `${things} came from ${file.name}.`
          : `Everything in ${file.name} was here already, as late or later.`,
      );
    } catch (error) {
      say(`${file.name} cannot be used: ${error.message}. Nothing was changed.`);
    }
  }

  find("file").addEventListener("change", async (event) => {
    await take(event.target.files[0]);
    event.target.value = ""; // the same file may come again
  });
  const carries = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    desk.classList.add("over");
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) desk.classList.remove("over");
  });
  addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    desk.classList.remove("over");
    take(event.dataTransfer.files[0]);
  });

  find("export").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([progress.text()], { type: "application/json" }));
    link.download = "progress.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    say("Saved as progress.json.");
  });

  // ---- On paper

  function record() {
    const rows = [];
    for (const stage of stages) {
      const title = stage.querySelector("h3 a").textContent;
      for (const item of stage.querySelectorAll("li.done[data-exercise]")) {
        const on = progress.read().passed[item.dataset.exercise].on.slice(0, 10);
        rows.push([title, item.querySelector("a").textContent, on]);
      }
      const right = stage.querySelectorAll("li.done[data-question]").length;
      const asked = stage.querySelectorAll("li[data-question]").length;
      if (right) rows.push([title, `${right} of ${asked} questions right`, ""]);
    }
    const body = document.querySelector(".record tbody");
    body.replaceChildren(
      ...rows.map((cells) => {
        const row = document.createElement("tr");
        row.append(
          ...cells.map((text) =>
            Object.assign(document.createElement("td"), { textContent: text }),
          ),
        );
        return row;
      }),
    );
    document.querySelector(".record .day").textContent = new Date().toISOString().slice(0, 10);
    document.querySelector(".record .sum").textContent = find("total").textContent;
  }
  addEventListener("beforeprint", record);
  find("print").addEventListener("click", () => print());

  // ---- Forgetting

  const sure = find("sure");
  const ask = (open) => {
    sure.hidden = !open;
    find("forget").setAttribute("aria-expanded", `${open}`);
    (open ? find("keep") : find("forget")).focus();
  };
  find("forget").addEventListener("click", () => ask(sure.hidden));
  find("keep").addEventListener("click", () => ask(false));
  sure.addEventListener("keydown", (event) => event.key === "Escape" && ask(false));
  find("yes").addEventListener("click", () => {
    progress.forget();
    ask(false);
    say("This browser has forgotten what you did.");
  });

  progress.changed(show);
  show();
}
