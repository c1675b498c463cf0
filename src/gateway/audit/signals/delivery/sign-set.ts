/** Signs Security Event Tokens (RFC 8417). */
import { SignJWT } from 'jose';
import { unixSeconds } from '#src/platform/clock.ts';
import type { QueuedEvent } from '../events/queue-store.ts';
import { alg, type SignalKeys } from './signal-keys.ts';

export type SignSet = (event: QueuedEvent, stream: { issuer: string; clientId: string }) => Promise<string>;

export const createSignSet =
  (keys: Pick<SignalKeys, 'current'>): SignSet =>
  async (event, { issuer, clientId }) => {
    const { kid, key } = await keys.current();
    return new SignJWT({
      iss: issuer,
      jti: event.jti,
      iat: unixSeconds(event.created),
      aud: clientId,
      txn: event.txn,
      sub_id: event.subject,
      events: { [event.type]: event.payload },
    })
      .setProtectedHeader({ alg, kid, typ: 'secevent+jwt' })
      .sign(key);
  };
