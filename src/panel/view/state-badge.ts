/** A state as a word, with a colour besides. */
import { type Html, html } from '../page/html.ts';
import type { SecretState } from '../ports/support.ts';

const tones = { active: 'good', quarantined: 'warn', revoked: 'bad', expired: 'bad' } as const;

export const stateBadge = (state: SecretState, words: Readonly<Record<SecretState, string>>): Html =>
  html`<span class="badge ${tones[state]}">${words[state]}</span>`;
