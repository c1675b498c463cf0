/** Testi dell'account. */
import type { Texts } from '../texts.ts';

export const account: Texts['account'] = {
  title: 'Account',
  role: 'Ruolo',
};
