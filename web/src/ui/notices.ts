// One line under the header for errors and notices.

import { byId } from "./dom";

export type Notify = (message: string, problem?: boolean) => void;

export const notify: Notify = (message, problem = false) => {
  const line = byId("message");
  line.textContent = message;
  line.hidden = message === "";
  line.classList.toggle("problem", problem);
};
