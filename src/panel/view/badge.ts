/** A state as a coloured word. */
import { type Html, html } from '../page/html.ts';

export type Tone = 'good' | 'bad' | 'warn' | 'plain';

/** `tone` sets the colour only; the text must say everything. */
export const badge = (tone: Tone, text: string): Html => html`<span class="badge ${tone}">${text}</span>`;

type CredentialState = 'active' | 'live' | 'quarantined' | 'revoked' | 'expired';

const tones: Readonly<Record<CredentialState, Tone>> = {
  active: 'good',
  live: 'good',
  quarantined: 'warn',
  revoked: 'bad',
  expired: 'bad',
};

/** The state of a client, key, secret or token. */
export const credentialBadge = <S extends CredentialState>(state: S, texts: Readonly<Record<S, string>>): Html =>
  badge(tones[state], texts[state]);
