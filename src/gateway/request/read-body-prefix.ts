/** Reads the start of a request body, within a bound. */

import { bodyCut, bodyTooSlow } from '../model/faults.ts';
import type { Exchange } from './exchange.ts';

/** Sends 100 Continue to a client that waits for it (RFC 9110 section 10.1.1), at most once. */
export const inviteBody = (exchange: Exchange): void => {
  if (!exchange.awaitsContinue) return;
  exchange.awaitsContinue = false;
  exchange.res.writeContinue();
};

/**
 * At most `bytesMax` bytes from the start of the body, less when it is shorter. The rest stays unread. Throws
 * REQUEST_TIMEOUT when the bytes do not come in time.
 */
export const readBodyPrefix = (exchange: Exchange, bytesMax: number, timeoutMs: number): Promise<Buffer> => {
  const { req } = exchange;
  inviteBody(exchange);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const timer = setTimeout(() => finish(bodyTooSlow(timeoutMs)), timeoutMs);
    const finish = (fault?: Error): void => {
      clearTimeout(timer);
      req.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      req.pause();
      if (fault !== undefined) return reject(fault);
      resolve(Buffer.concat(chunks, Math.min(bytes, bytesMax)));
    };
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= bytesMax) finish();
    };
    const onEnd = (): void => finish();
    const onClose = (): void => finish(bodyCut());
    req.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
};
