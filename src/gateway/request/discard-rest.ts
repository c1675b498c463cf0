/** Discards the rest of a request body after its answer, within bounds. */
import type { IncomingMessage } from 'node:http';

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
