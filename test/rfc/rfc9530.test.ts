/** RFC 9530: the digest of the body of a delivery. Receivers of others check it in A-405. */
import { expect, test } from 'vitest';
import { contentDigest } from '#src/webhooks/signing/message-signature.ts';

test('A-404 RFC 9530 2, B.2: the digest of a body is that of the RFC', () => {
  expect(contentDigest('{"hello": "world"}\n')).toBe('sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:');
});
