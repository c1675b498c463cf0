/** Interface 6.2, step 1: the size of the head, and heads that two parsers could understand differently. */
import { hostProblem } from '#src/platform/http/host-field.ts';
import { headersTooLarge, malformedRequest, uriTooLong } from '../model/faults.ts';
import type { Step } from '../request/exchange.ts';

type CheckRequestHeadDeps = { urlBytesMax: number; headerBytesMax: number };

/** `: ` and the line end of each field. */
const fieldOverheadBytes = 4;

export const createCheckRequestHead = ({ urlBytesMax, headerBytesMax }: CheckRequestHeadDeps): Step => {
  return ({ req, target }) => {
    if (target.length > urlBytesMax) throw uriTooLong(urlBytesMax);
    const { rawHeaders } = req;
    let bytes = rawHeaders.length * (fieldOverheadBytes / 2);
    for (let i = 0; i < rawHeaders.length; i += 1) bytes += rawHeaders[i]?.length ?? 0;
    if (bytes > headerBytesMax) throw headersTooLarge(headerBytesMax);
    // RFC 9112 section 3.2. Node would refuse some of these itself, without the headers of the gateway.
    const wrongHost = hostProblem(rawHeaders, req.httpVersionMinor);
    if (wrongHost !== undefined) throw malformedRequest('Host', wrongHost);
    const coding = req.headers['transfer-encoding'];
    if (coding === undefined) return;
    // Node's parser refuses Content-Length beside Transfer-Encoding and a last coding other than chunked. Anything but
    // plain `chunked` would still have to be undone here to be forwarded, and HTTP/1.0 has no chunks (RFC 9112 6.1).
    if (coding.toLowerCase() !== 'chunked' || req.httpVersionMinor === 0) {
      throw malformedRequest('Transfer-Encoding', 'only chunked is understood');
    }
  };
};
