/** Testi dell'accesso. */
import type { Texts } from '../en/en.ts';

export const signIn: Texts['signIn'] = {
  title: 'Accedi',
  email: 'Email',
  password: 'Password',
  submit: 'Accedi',
  refused: 'Email o password non sono corrette, oppure l’account è disattivato.',
  wait: (minutes) =>
    `Troppi tentativi. Riprova tra ${minutes} ${minutes === 1 ? 'minuto' : 'minuti'}, o chiedi un link monouso.`,
  waitForCode: (minutes) => `Troppi tentativi. Riprova tra ${minutes} ${minutes === 1 ? 'minuto' : 'minuti'}.`,
  withProvider: (name) => `Accedi con ${name}`,
  providerAway: 'L’accesso esterno ora non è raggiungibile. Usa la password se ne hai una, o riprova tra un minuto.',
  providerFailed: 'L’accesso esterno non è riuscito. Riprova.',
  providerUnknown: 'Qui non c’è un account che questa identità possa usare. Chiedi a un amministratore.',
  codeTitle: 'Un altro passaggio',
  code: 'Codice monouso',
  codeHint: 'Le sei cifre mostrate dall’app, o un codice di recupero.',
  codeRefused: 'Questo codice non è corretto, non vale più o è già stato usato. Provane un altro.',
  tooLate: 'Questo accesso non è più valido, di solito perché è passato troppo tempo. Accedi di nuovo.',
  forgot: {
    title: 'Hai dimenticato la password?',
    text: 'Scrivi l’email del tuo account. Riceverai un link per scegliere una nuova password.',
    submit: 'Inviami un link',
    asked: 'Controlla la posta',
    askedText:
      'Se esiste un account con questa email, il link è in arrivo. Funziona una volta sola, entro un giorno. Se non arriva nulla, guarda tra lo spam o chiedi a un amministratore.',
    off: 'Questa installazione non invia email. Chiedi un link monouso a un amministratore.',
    back: 'Torna all’accesso',
  },
  linkTitle: 'Imposta la password',
  linkFor: (email) => `Per ${email}`,
  newPassword: 'Nuova password',
  newPasswordAgain: 'Ripeti la nuova password',
  passwordRule: 'Almeno 12 caratteri. Alcune parole senza legame tra loro vanno bene.',
  setPassword: 'Imposta la password e accedi',
  linkGone: {
    title: 'Questo link non funziona più',
    text: 'È stato usato, è scaduto, non è completo, ne è stato creato uno nuovo, oppure l’account è disattivato. Chiedine un altro.',
  },
  passwordShort: 'Usa almeno 12 caratteri.',
  passwordLong: 'Usa al massimo 256 caratteri.',
  passwordCommon: 'Questa password è troppo facile da indovinare.',
  passwordsDiffer: 'Le due password non coincidono.',
};
