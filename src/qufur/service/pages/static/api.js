// Calls of the HTTP API. Errors carry the message of the server.

const token = document.querySelector('meta[name="csrf-token"]').content;

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
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
    throw new ApiError(0, "The service does not respond.");
  }
  if (response.status === 401) {
    location.assign(`/login?next=${encodeURIComponent(location.pathname)}`);
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new ApiError(response.status, answer.error ?? `The service responded with status ${response.status}.`);
  return answer;
}

// The path of a stream in the API; every part is encoded.
export const path = (...parts) => ["/v1/streams", ...parts.map(encodeURIComponent)].join("/");

// Scopes of the key on this page.
export const may = new Set(document.body.dataset.may.split(" "));

export const stream = document.body.dataset.stream;
