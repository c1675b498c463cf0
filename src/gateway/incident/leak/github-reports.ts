/** Reads the signed reports of GitHub, and answers in their format (interface 29). */
import { createHash, verify } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { Fault } from '#src/contract/fault.ts';
import { readBody } from '#src/platform/http/read-body.ts';
import { invalidRequest, OAuthRefusal, temporarilyUnavailable } from '../../oauth/oauth-answers.ts';
import type { GithubKeys } from './github-keys.ts';
import type { LeakResult } from './report-leak.ts';

export type FoundByGithub = { token: string; type: string; url?: string | undefined; source?: string | undefined };

const bodyBounds = { bytesMax: 1024 * 1024, timeoutMs: 30_000 };
const signatureLengthMax = 512;

const reportsSchema = z
  .array(
    z.object({
      token: z.string().max(8_192),
      type: z.string().max(200),
      url: z
        .string()
        .nullish()
        .transform((url) => url ?? undefined),
      source: z
        .string()
        .nullish()
        .transform((source) => source ?? undefined),
    }),
  )
  .max(1_000);

/** Throws OAuthRefusal: 401 unless the body is signed by a key of GitHub, 503 while its keys cannot be read. */
export const readGithubReports = async (keys: GithubKeys, req: IncomingMessage): Promise<readonly FoundByGithub[]> => {
  const { 'github-public-key-identifier': id, 'github-public-key-signature': signature } = req.headers;
  if (typeof id !== 'string' || typeof signature !== 'string' || signature.length > signatureLengthMax) {
    throw notSigned();
  }
  const body = await readBytes(req);
  const { document, isFailing } = await keys.read((known) => known.has(id));
  const key = document?.get(id);
  if (key === undefined) throw document === undefined || isFailing ? temporarilyUnavailable() : notSigned();
  if (!verify('sha256', body, { key, dsaEncoding: 'der' }, Buffer.from(signature, 'base64'))) throw notSigned();
  const parsed = reportsSchema.safeParse(parse(body));
  if (!parsed.success)
    throw invalidRequest('The body must be a JSON array of at most 1,000 objects with token and type');
  return parsed.data;
};

/** The answer holds hashes, so that it repeats no value. */
export const githubAnswer = ({ token, type }: FoundByGithub, result: LeakResult) => ({
  token_hash: createHash('sha256').update(token).digest('hex'),
  token_type: type,
  label: result === 'unknown' ? ('false_positive' as const) : ('true_positive' as const),
});

const readBytes = async (req: IncomingMessage): Promise<Buffer> => {
  try {
    return await readBody(req, bodyBounds);
  } catch (error) {
    if (!(error instanceof Fault)) throw invalidRequest('The body could not be read');
    throw invalidRequest(error.publicText, error.status, { connection: 'close' });
  }
};

const parse = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
};

const notSigned = (): OAuthRefusal =>
  new OAuthRefusal('invalid_request', 401, 'The request is not signed by a current key of GitHub');
