/** Streams a request body to an upstream: counted, timed, with backpressure, at most one chunk in memory. */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { bodyCut, bodyTooLarge, bodyTooSlow } from '../model/faults.ts';
import type { Exchange } from '../request/exchange.ts';
import { inviteBody } from '../request/read-body-prefix.ts';

/**
 * A large body from a fast sender would keep the thread busy, since each chunk is ready when the last one was sent. So the
 * stream lets the event loop take its other events after this many bytes.
 */
const burstBytes = 128 * 1024;

type BodyBounds = { bodyBytesMax: number; bodyTimeoutMs: number };

/**
 * The stream fails with PAYLOAD_TOO_LARGE at the first byte too many, REQUEST_TIMEOUT when the body does not arrive in
 * time or the client goes away. The time that the upstream takes to read is not charged to the client.
 */
export const createBodyStream = (exchange: Exchange, { bodyBytesMax, bodyTimeoutMs }: BodyBounds): Readable => {
  const { req } = exchange;
  let bytes = 0;
  let restAt = burstBytes;
  let resting: NodeJS.Immediate | undefined;
  let leftMs = bodyTimeoutMs;
  let waitingSince = 0;
  let timer: NodeJS.Timeout | undefined;
  const wait = (): void => {
    if (timer !== undefined || req.complete) return;
    waitingSince = performance.now();
    timer = setTimeout(() => stream.destroy(bodyTooSlow(bodyTimeoutMs)), Math.max(leftMs, 1));
  };
  const stopWaiting = (): void => {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    leftMs -= performance.now() - waitingSince;
  };
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) {
      stream.destroy(bodyTooLarge(bodyBytesMax));
      return;
    }
    const isWanted = stream.push(chunk);
    if (isWanted && bytes < restAt) return;
    req.pause();
    stopWaiting();
  };
  const flow = (): void => {
    resting = undefined;
    wait();
    req.resume();
  };
  const onEnd = (): void => {
    stopWaiting();
    stream.push(null);
  };
  const onCut = (): void => {
    if (!req.complete) stream.destroy(bodyCut());
  };
  const stream = new Readable({
    read() {
      if (bytes < restAt) return flow();
      restAt = bytes + burstBytes;
      resting = setImmediate(flow);
    },
    destroy(error, callback) {
      clearImmediate(resting);
      stopWaiting();
      req.off('data', onData).off('end', onEnd).off('close', onCut).off('error', onCut);
      holdBack(req);
      callback(error);
    },
  });
  req.on('data', onData).on('end', onEnd).on('close', onCut).on('error', onCut);
  inviteBody(exchange);
  return stream;
};

/**
 * What still arrives waits for discard-rest.ts. An answer of the gateway may be written before undici destroys the stream, so
 * the rest may be discarded already, and a pause of this stream would keep it back.
 */
const holdBack = (req: IncomingMessage): void => {
  if (req.complete) return;
  if (req.listenerCount('data') > 0) req.resume();
  else req.pause();
};
