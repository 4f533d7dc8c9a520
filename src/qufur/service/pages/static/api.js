// Calls of /v1, as any program makes them; an error is the server's sentence.

const token = document.querySelector('meta[name="csrf-token"]').content;

export class Refusal extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

export async function call(method, path, body, options = {}) {
  const headers = { Accept: "application/json", "X-CSRF-Token": token };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const text = body === undefined ? undefined : JSON.stringify(body);
  let response;
  try {
    response = await fetch(path, { method, headers, body: text, credentials: "same-origin", ...options });
  } catch {
    throw new Refusal(0, "The service does not answer.");
  }
  if (response.status === 401) {
    location.assign(`/login?next=${encodeURIComponent(location.pathname)}`);
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refusal(response.status, answer.error ?? `The service answered ${response.status}.`);
  return answer;
}

// The path of a stream in the API; every part is encoded, whatever its name.
export const path = (...parts) => ["/v1/streams", ...parts.map(encodeURIComponent)].join("/");

// What the key may do here, by scope.
export const may = new Set(document.body.dataset.may.split(" "));

export const stream = document.body.dataset.stream;
