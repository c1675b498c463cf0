/** Pure: the Host field of a request, by RFC 9112 section 3.2 and RFC 3986 section 3.2.2. */

const charactersMax = 300;
/** Each character matches in one way only. A comma is refused although a name may hold it: it marks two joined fields. */
const hostForm = /^(?:\[[0-9A-Fa-f:.]{2,45}\]|(?:[A-Za-z0-9._~!$&'()*+;=-]|%[0-9A-Fa-f]{2})+)(?::[0-9]{0,5})?$/;

/** Most requests to a process name the same host, so the last one is remembered. */
let lastGood = '';

/** The problem, worded to follow the name of the field; undefined without one. `rawHeaders`: as node:http gives them. */
export const hostProblem = (rawHeaders: readonly string[], httpVersionMinor: number): string | undefined => {
  let host: string | undefined;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length !== 4 || (name !== 'Host' && name.toLowerCase() !== 'host')) continue;
    if (host !== undefined) return 'must be sent once';
    host = rawHeaders[i + 1];
  }
  // HTTP/1.0 has no Host field.
  if (host === undefined || host === '') return httpVersionMinor > 0 ? 'is missing' : undefined;
  if (host === lastGood) return undefined;
  if (host.length > charactersMax || !hostForm.test(host))
    return 'must be a host name or address with an optional port';
  lastGood = host;
  return undefined;
};
