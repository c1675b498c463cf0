/**
 * Pure: reads what is readable of a request that the parser refused, so that its refusal is in the dialect of its caller. The
 * result decides nothing but the form of the answer and the log line.
 */
import type { Asked } from '../request/exchange.ts';

export type BrokenHead = Pick<Asked, 'search' | 'req'> & { method: string; path: string };

/** The packet with the error is read up to here. */
const charactersMax = 32 * 1024;
const startLine = /^([A-Z]{1,20}) ([\x21-\x7e]{1,16384}) HTTP\/1\.[01]$/;
const fieldName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;

/** `packet`: undefined when no bytes are known. */
export const readBrokenHead = (packet: Buffer | undefined): BrokenHead => {
  const text = packet?.subarray(0, charactersMax).toString('latin1') ?? '';
  const end = text.indexOf('\r\n\r\n');
  const [first = '', ...lines] = (end === -1 ? text : text.slice(0, end)).split('\r\n');
  const [, method = '', target = ''] = startLine.exec(first) ?? [];
  const rawHeaders: string[] = [];
  const headers: Record<string, string> = {};
  // Without a start line the packet may come from the middle of a body, where lines mean nothing.
  for (const line of method === '' ? [] : lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon));
    if (!fieldName.test(name)) continue;
    const value = line.slice(colon + 1).trim();
    rawHeaders.push(name, value);
    headers[name.toLowerCase()] ??= value;
  }
  const mark = target.indexOf('?');
  return {
    method,
    path: mark === -1 ? target : target.slice(0, mark),
    search: mark === -1 ? '' : target.slice(mark + 1),
    req: { rawHeaders, headers },
  };
};
