/** The code of the guide that verifies message signatures, as readers copy it. */
import type { JsonWebKey } from 'node:crypto';
import { join } from 'node:path';
import { root } from '../../support/program.ts';

type VerifyMessage = (
  keys: readonly (JsonWebKey & { kid: string })[],
  url: string,
  headers: Record<string, string>,
  body: Buffer,
) => boolean;

// The file has no types, since readers copy it.
const snippet = join(root, 'src/app/reference/snippets/message/verify-message.mjs');

export const { verifyMessage } = (await import(snippet)) as { verifyMessage: VerifyMessage };
