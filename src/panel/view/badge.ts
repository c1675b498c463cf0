/** A state as a coloured word. */
import { isSandboxId } from '#src/contract/sandbox.ts';
import { type Html, html } from '../page/html.ts';

export type Tone = 'good' | 'bad' | 'warn' | 'plain';

/** `tone` sets the colour only; the text must say everything. */
export const badge = (tone: Tone, text: string): Html => html`<span class="badge ${tone}">${text}</span>`;

/** Nothing for a real restaurant. The word is the same in every language of the panel. */
export const sandboxBadge = (restuid: string): Html | false =>
  isSandboxId(restuid) && html` ${badge('warn', 'Sandbox')}`;

type CredentialState = 'active' | 'live' | 'quarantined' | 'revoked' | 'expired';

const tones: Readonly<Record<CredentialState, Tone>> = {
  active: 'good',
  live: 'good',
  quarantined: 'warn',
  revoked: 'plain',
  expired: 'plain',
};

/** The state of a client, key, secret or token. */
export const credentialBadge = <S extends CredentialState>(state: S, texts: Readonly<Record<S, string>>): Html =>
  badge(tones[state], texts[state]);
