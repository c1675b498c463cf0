/** Bodies that are kept in memory until their answer comes, so that their request can be sent a second time. */
import type { Readable } from 'node:stream';
import type { Exchange } from '../request/exchange.ts';

/** Bounds the memory of all requests together. Requests with a longer body are streamed and sent once. */
const keptBytesMax = 64 * 1024;

/** Only a declared length shows before the body is read whether it fits. */
export const canBeKept = ({ req }: Exchange): boolean => {
  const declared = req.headers['content-length'];
  return declared !== undefined && Number(declared) <= keptBytesMax;
};

/** Rejects with what the stream fails with. */
export const readWholeBody = async (stream: Readable): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};
