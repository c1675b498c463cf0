/** What a client wants of a token and does not get. The endpoint answers it as a refusal of RFC 6749 section 5.2. */
import type { DetailCode } from '#src/contract/fault.ts';

export class NarrowRefusal extends Error {
  override readonly name = 'NarrowRefusal';
  /** Of RFC 6749, or of the RFC of the parameter. */
  readonly error: string;
  /** The parameter, or the path to its member. Undefined: none is wrong by itself. */
  readonly pointer: string | undefined;
  readonly code: DetailCode;
  /** Without the pointer. */
  readonly text: string;
  constructor(error: string, text: string, at?: { pointer: string; code: DetailCode }) {
    super(at === undefined ? text : `${at.pointer} ${text}`);
    this.error = error;
    this.text = text;
    this.pointer = at?.pointer;
    this.code = at?.code ?? 'FORMAT';
  }
}
