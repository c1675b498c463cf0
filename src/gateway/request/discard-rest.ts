/** Discards the rest of a request body after its answer, within bounds. */
import type { IncomingMessage, ServerResponse } from 'node:http';

const bytesMax = 8 * 1024 * 1024;
const timeMsMax = 2_000;

/** A part of the body has not arrived. */
export const expectsMore = ({ complete, headers }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);

/**
 * Closing a socket with unread bytes sends a reset, and a reset can overtake the answer (RFC 9112 section 9.6). So bytes that
 * still arrive are read and discarded first. `onOver` is called once; `isWhole`: the body has ended, so the connection may
 * have another request.
 */
export const discardRest = (req: IncomingMessage, onOver: (isWhole: boolean) => void): void => {
  let rest = bytesMax;
  const close = (): void => {
    clearTimeout(timer);
    req.off('data', onData).off('end', close).off('close', close);
    onOver(req.complete);
  };
  const onData = (chunk: Buffer): void => {
    rest -= chunk.length;
    if (rest < 0) close();
  };
  const timer = setTimeout(close, timeMsMax);
  req.on('data', onData).on('end', close).on('close', close);
  req.resume();
};

/**
 * For every request, before it is served. An answer may come without the whole body, and what the client still sends is then
 * read nowhere: a client that writes its body before it reads would wait for ever, and one that never ends would keep the
 * connection. Nothing is discarded before the end of the answer, since a body may arrive beside it.
 */
export const discardAfterAnswer = (req: IncomingMessage, res: ServerResponse): void => {
  if (!expectsMore(req)) return;
  const discard = (): void => {
    if (expectsMore(req)) discardRest(req, (isWhole) => (isWhole ? undefined : req.socket.destroySoon()));
  };
  res.once('finish', () => setImmediate(discard));
};
