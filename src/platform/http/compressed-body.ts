/** A body that never changes, compressed for callers that accept it. */
import { promisify } from 'node:util';
import zlib from 'node:zlib';

export type Compression = 'br' | 'gzip';

const compressors: Readonly<Record<Compression, (body: Buffer) => Promise<Buffer>>> = {
  // Not the slowest level, which takes seconds for swagger-ui and saves a few percent.
  br: (body) =>
    promisify(zlib.brotliCompress)(body, {
      params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 9, [zlib.constants.BROTLI_PARAM_SIZE_HINT]: body.length },
    }),
  gzip: (body) => promisify(zlib.gzip)(body, { level: 9 }),
};

/** Compresses once for each encoding, with its first request and off the event loop: most starts serve no such request. */
export const createCompressed = (body: Buffer): ((encoding: Compression) => Promise<Buffer>) => {
  const made = new Map<Compression, Promise<Buffer>>();
  return (encoding) => {
    const packed = made.get(encoding) ?? compressors[encoding](body);
    made.set(encoding, packed);
    return packed;
  };
};
