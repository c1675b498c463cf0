/**
 * What a request may say where a route has `{name}` or `/*`. The upstream gets the raw path, so a segment is refused when a
 * service could read it as another path than the one that was matched here.
 */
import { decodedSegment } from '../model/route-path.ts';

/** Longest segment in characters. */
const segmentMax = 1_024;

/** Unreserved characters, sub-delims, `:` and `@` (RFC 3986 section 3.3), and well-formed percent-encoding. */
const characters = /^(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+$/;

/** A slash, a backslash, a percent sign or a control character, which only percent-encoding can bring in. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that are refused
const hidden = /[/\\%\u0000-\u001f\u007f-\u009f]/;

/** True when the raw segment means one segment to every reader. */
export const isOneSegment = (raw: string): boolean => {
  if (raw.length > segmentMax || !characters.test(raw)) return false;
  const text = raw.includes('%') ? decodedSegment(raw) : raw;
  if (text === undefined || hidden.test(text)) return false;
  // Some servers remove what follows a semicolon, and see a dot segment or an empty one in the rest.
  const end = text.indexOf(';');
  const name = end === -1 ? text : text.slice(0, end);
  return name !== '' && name !== '.' && name !== '..';
};

/** True for segments that a final `/*` matches: none is empty, but a slash may end the path. `from`: start of the first. */
export const areSegments = (path: string, from: number): boolean => {
  let start = from;
  while (start < path.length) {
    const slash = path.indexOf('/', start);
    const end = slash === -1 ? path.length : slash;
    if (!isOneSegment(path.slice(start, end))) return false;
    start = end + 1;
  }
  return true;
};
