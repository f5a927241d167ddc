// What is drawn and can be pressed answers the keyboard, too.

/**
 * @param {KeyboardEvent} event
 * @param {() => void} act
 */
export function press(event, act) {
  if (event.key !== "Enter" && event.key !== " ") return;
  event.preventDefault();
  act();
}
