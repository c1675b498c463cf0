/** Interface 6.2, step 9: size and media type of the body, as far as they show before it is forwarded. */

import type { Fault } from '#src/contract/fault.ts';
import { bodyTooLarge, contentWithSafeMethod, unlistedMediaType, unsupportedMediaType } from '../model/faults.ts';
import { type BodyRule, takesType } from '../model/forwarding.ts';
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
    const { req, route, method } = exchange;
    if (route === undefined) return;
    const declared = req.headers['content-length'];
    if (declared !== undefined && Number(declared) > route.bodyBytesMax) throw bodyTooLarge(route.bodyBytesMax);
    const isSafe = method === 'GET' || method === 'HEAD' || method === 'TRACE';
    // Content of these methods has no meaning (RFC 9110 section 9.3.1), so routes for JSON do not forward it. A route for
    // other bodies may stand before a service that reads it, where an answer to a request without it would be wrong.
    if (isSafe && route.body === 'json') return;
    const refusal = isSafe ? contentWithSafeMethod(method) : typeRefusal(exchange, route.body);
    if (refusal === undefined) {
      exchange.body = 'unread';
      return;
    }
    if (exchange.body === 'seen' || declared !== undefined) throw refusal;
    if (exchange.body === 'empty') return;
    return refuseUnlessEmpty(exchange, refusal, route.timeouts.bodyMs);
  };
};

/** Undefined: the route takes bodies of this type. */
const typeRefusal = ({ req }: Exchange, rule: BodyRule): Fault | undefined => {
  if (rule === 'any') return undefined;
  const type = mediaTypeOf(req.headers['content-type']);
  if (rule !== 'json') return takesType(rule, type) ? undefined : unlistedMediaType(rule);
  const coding = req.headers['content-encoding'];
  const isPlain = coding === undefined || coding === '' || coding.toLowerCase() === 'identity';
  return isPlain && type === 'application/json' ? undefined : unsupportedMediaType();
};

/** The type of an empty body does not matter (interface 1); a chunked body must be read to know that it is empty. */
const refuseUnlessEmpty = async (exchange: Exchange, refusal: Fault, timeoutMs: number): Promise<void> => {
  const prefix = await readBodyPrefix(exchange, 1, timeoutMs);
  if (prefix.length > 0) throw refusal;
  exchange.body = 'empty';
};
