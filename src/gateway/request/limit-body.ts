/** Interface 6.2, step 9: size and media type of the body, as far as they show before it is forwarded. */

import { bodyTooLarge, unsupportedMediaType } from '../model/faults.ts';
import type { Exchange, Step } from './exchange.ts';
import { readBodyPrefix } from './read-body-prefix.ts';

/** Media type in lower case without its parameters. */
export const mediaTypeOf = (contentType: string | undefined): string =>
  contentType === undefined ? '' : (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();

/** A body is announced by either header (RFC 9112 section 6.3); Node has refused requests with both. */
export const announcesBody = ({ req }: Exchange): boolean =>
  req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;

export const createLimitBody = (): Step => {
  return (exchange) => {
    if (!announcesBody(exchange)) return;
    const { req, route } = exchange;
    if (route === undefined) return;
    const declared = req.headers['content-length'];
    if (declared !== undefined && Number(declared) > route.bodyBytesMax) throw bodyTooLarge(route.bodyBytesMax);
    // The body of a GET has no meaning here (RFC 9110 section 9.3.1) and is not forwarded.
    if (route.method === 'GET') return;
    if (isPlainJson(exchange)) {
      exchange.body = 'unread';
      return;
    }
    if (exchange.body === 'seen' || declared !== undefined) throw unsupportedMediaType();
    if (exchange.body === 'empty') return;
    return refuseUnlessEmpty(exchange, route.bodyTimeoutMs);
  };
};

const isPlainJson = ({ req }: Exchange): boolean => {
  const coding = req.headers['content-encoding'];
  if (coding !== undefined && coding !== '' && coding.toLowerCase() !== 'identity') return false;
  return mediaTypeOf(req.headers['content-type']) === 'application/json';
};

/** The type of an empty body does not matter (interface 1); a chunked body must be read to know that it is empty. */
const refuseUnlessEmpty = async (exchange: Exchange, timeoutMs: number): Promise<void> => {
  const prefix = await readBodyPrefix(exchange, 1, timeoutMs);
  if (prefix.length > 0) throw unsupportedMediaType();
  exchange.body = 'empty';
};
