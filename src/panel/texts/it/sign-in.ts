/** Testi dell'accesso. */
import type { Texts } from '../texts.ts';

export const signIn: Texts['signIn'] = {
  title: 'Accedi',
  email: 'Email',
  password: 'Password',
  submit: 'Accedi',
  refused: 'Email o password non sono corrette.',
  wait: (minutes) =>
    `Troppi tentativi. Riprova tra ${minutes} ${minutes === 1 ? 'minuto' : 'minuti'}, o chiedi un link monouso.`,
  withProvider: (name) => `Accedi con ${name}`,
  providerAway: 'L’altro accesso ora non è raggiungibile. Usa la password, o riprova tra un minuto.',
  providerFailed: 'L’altro accesso non ha funzionato. Riprova.',
  providerUnknown: 'Per questa identità qui non c’è un account. Chiedi a un amministratore.',
  codeTitle: 'Un altro passaggio',
  code: 'Codice monouso',
  codeHint: 'Le sei cifre mostrate dall’app, o un codice di recupero.',
  codeRefused: 'Questo codice non è corretto, o è già stato usato. Aspetta il prossimo.',
  tooLate: 'È passato troppo tempo. Accedi di nuovo.',
  linkTitle: 'Imposta la password',
  linkFor: (email) => `Per ${email}`,
  newPassword: 'Nuova password',
  newPasswordAgain: 'Ripeti la nuova password',
  passwordRule: 'Almeno 12 caratteri. Alcune parole senza legame tra loro vanno bene.',
  setPassword: 'Imposta la password e accedi',
  linkGone: {
    title: 'Questo link non funziona più',
    text: 'È stato usato, è scaduto o ne è stato creato uno nuovo. Chiedine un altro.',
  },
  passwordShort: 'Usa almeno 12 caratteri.',
  passwordLong: 'Usa al massimo 256 caratteri.',
  passwordCommon: 'Questa password è troppo facile da indovinare.',
  passwordsDiffer: 'Le due password non coincidono.',
};
