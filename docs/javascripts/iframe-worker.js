// Search without a server: browsers start no worker on a page opened from a file, so its script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    #waiting = [];
    #inside;

    constructor(url) {
      super();
      const frame = document.body.appendChild(document.createElement("iframe"));
      frame.hidden = true;
      this.#inside = frame.contentWindow;
      this.#inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = frame.contentDocument.createElement("script");
      script.src = url;
      script.onload = () => {
        const waiting = this.#waiting;
        this.#waiting = null;
        for (const data of waiting) this.postMessage(data);
      };
      frame.contentDocument.body.appendChild(script);
    }

    postMessage(data) {
      if (this.#waiting) this.#waiting.push(data);
      else this.#inside.dispatchEvent(new MessageEvent("message", { data }));
    }
  };
}
