/**
 * Removes informational answers (RFC 9110 section 15.2) from what an upstream sends before its final answer. They concern one
 * connection only. undici ends a connection on a `100 Continue` that it did not ask for, which some services send to every
 * request with a body, and waits anew after each of the others.
 *
 * It leans on this part of undici 8 that its documentation does not promise; test/platform/parity/undici.test.ts holds it:
 * - a client takes the bytes of an answer only by calling `read` of the socket that `connect` gave it, each time it is readable.
 */
import type { Socket } from 'node:net';

/** Before one final answer. WebDAV servers send 102 every few seconds while they work. */
const answersMax = 100;
const headBytesMax = 16 * 1024;

export const informationalCode = 'ERR_INFORMATIONAL_ANSWERS';

export type SkipInformational = {
  /** A request begins: the next bytes are the head of an answer. */
  expectAnswer(): void;
  /** What is read from the socket of the connection from now on has no informational answers. */
  watch(socket: Socket): void;
};

export const createSkipInformational = (): SkipInformational => {
  let isExpected = false;
  let skipped = 0;
  let held: Buffer | undefined;

  /** What is left of the bytes; undefined: nothing yet. Throws when there is too much to skip. */
  const skip = (chunk: Buffer): Buffer | undefined => {
    let rest = held === undefined ? chunk : Buffer.concat([held, chunk]);
    held = undefined;
    while (mayBeInformational(rest)) {
      const end = rest.indexOf('\r\n\r\n');
      if (end === -1) {
        if (rest.length > headBytesMax) throw tooMuch(`an informational answer of more than ${headBytesMax} bytes`);
        held = rest;
        return undefined;
      }
      // Its end is not where the parser sees it, so the parser gets it and refuses it.
      if (/(?<!\r)\n/.test(rest.toString('latin1', 0, end))) break;
      skipped += 1;
      if (skipped > answersMax) throw tooMuch(`more than ${answersMax} informational answers`);
      rest = rest.subarray(end + 4);
      if (rest.length === 0) return undefined;
    }
    isExpected = false;
    return rest;
  };

  return {
    expectAnswer: () => {
      isExpected = true;
      skipped = 0;
    },
    watch: (socket) => {
      held = undefined;
      const read = socket.read.bind(socket);
      socket.read = (size?: number): Buffer | null => {
        for (;;) {
          const chunk: Buffer | null = read(size);
          if (chunk === null || !isExpected) return chunk;
          try {
            const rest = skip(chunk);
            if (rest !== undefined) return rest;
          } catch (error) {
            socket.destroy(error as Error);
            return null;
          }
        }
      };
    },
  };
};

const tooMuch = (what: string): Error =>
  Object.assign(new Error(`the upstream sent ${what}`), { code: informationalCode });

const start = Buffer.from('HTTP/1.1 1');
const [zero, one, nine, space, carriageReturn] = [48, 49, 57, 32, 13];
const isDigit = (byte: number): boolean => byte >= zero && byte <= nine;

/** True for the beginning of an answer with a status from 100 to 199, also for a part of it. 101 is left: it was not asked for. */
const mayBeInformational = (bytes: Buffer): boolean => {
  if (bytes.length > 9 && bytes[9] !== one) return false;
  const compared = Math.min(bytes.length, start.length);
  if (bytes.compare(start, 0, compared, 0, compared) !== 0) return false;
  const [tens, ones, after] = bytes.subarray(10, 13);
  if (tens === undefined || ones === undefined) return tens === undefined || isDigit(tens);
  if (!isDigit(tens) || !isDigit(ones) || (tens === zero && ones === one)) return false;
  return after === undefined || after === space || after === carriageReturn;
};
