/** Testi delle pagine sugli account dello staff. */
import type { Texts } from '../en/en.ts';
import { passkeys } from './people.ts';

export const users: Texts['users'] = {
  sessions: 'Dove questo account ha effettuato l’accesso',
  title: 'Utenti',
  invite: 'Invita un utente',
  emailProblem: 'Scrivi un indirizzo email, ad esempio nome@example.com.',
  emailTaken: 'Esiste già un account con questa email.',
  chooseRole: 'Scegli un ruolo',
  roleHint:
    'Un titolare vede i ristoranti scelti qui sotto. Assistenza, sicurezza e amministratori li vedono tutti. Il referente di un integratore si invita dalla pagina del client API.',
  roleProblem: 'Scegli un ruolo.',
  restaurantsOfOwner: 'Ristoranti di un titolare',
  restaurantsProblem: 'Scegli almeno un ristorante: un titolare non ne vede altri.',
  mailLink: 'Invia il link per email',
  invitedTitle: (email) => `${email} è stato invitato`,
  linkOf: (email) => `Link per ${email}`,
  linkText: 'Consegna questo link all’utente, che lo userà per scegliere la password. Viene mostrato solo ora.',
  linkUntil:
    'Funziona una volta sola e non vale più se ne viene creato uno nuovo o se l’account viene disattivato o cambia ruolo. Scade il',
  linkHanded: 'L’ho consegnato',
  linkMailed: (email) => `Un link monouso è stato inviato a ${email}. Vale un giorno.`,
  linkNotMailed: (email) =>
    `Il server di posta ha rifiutato il messaggio per ${email} o non ha risposto in tempo; potrebbe arrivare lo stesso. Consegna il link in un altro modo.`,
  changeAccess: 'Ruolo e ristoranti',
  accessTitle: (email) => `Ruolo e ristoranti di ${email}`,
  accessIntro: 'La modifica vale subito, anche nelle sessioni aperte.',
  accessAsk: (email) => `Cambiare ruolo o ristoranti di ${email}?`,
  accessRole: (before, after) =>
    `Il ruolo «${before}» diventa «${after}»: da subito le pagine riservate al ruolo precedente non si aprono più, e un link monouso non ancora usato non vale più.`,
  accessLost: 'L’account perde questi ristoranti:',
  accessSaved: (email) => `Ruolo e ristoranti di ${email} sono stati salvati.`,
  save: 'Salva',
  state: 'Stato',
  states: { active: 'Attivo', invited: 'Invitato', disabled: 'Disattivato' },
  secondFactor: 'Secondo fattore',
  factors: { none: 'Nessuno', codes: 'Codici', passkey: 'Passkey', both: 'Codici e passkey' },
  created: 'Creato',
  restaurants: 'Ristoranti',
  makeLink: 'Nuovo link monouso',
  disable: 'Disattiva',
  enable: 'Riattiva',
  endSessions: 'Disconnetti ovunque',
  notYourself:
    'Per il tuo account deve farlo un altro amministratore. La pagina del tuo account mostra dove hai effettuato l’accesso.',
  ask: {
    disable: {
      title: (email) => `Disattivare ${email}?`,
      text: 'L’account viene disconnesso ovunque e il suo link monouso non vale più. Finché non viene riattivato, non è possibile accedere.',
    },
    'remove-totp': {
      title: (email) => `Rimuovere i codici monouso di ${email}?`,
      text: 'Da quel momento non viene più chiesto alcun codice, e anche i codici di recupero non varranno più. Se il ruolo richiede un secondo fattore, al prossimo accesso andrà aggiunto di nuovo.',
    },
    'remove-passkeys': passkeys.ask,
    'end-session': {
      title: (email) => `Disconnettere questo browser da ${email}?`,
      text: 'Da quel browser bisognerà accedere di nuovo.',
    },
    'end-sessions': {
      title: (email) => `Disconnettere ${email} ovunque?`,
      text: 'Da ogni browser bisognerà accedere di nuovo.',
    },
  },
  enabledInvited: (email) =>
    `${email} è riattivato. Non ha ancora una password e il link monouso precedente non vale più: crea un nuovo link.`,
  done: {
    disable: (email) => `${email} è disattivato e disconnesso ovunque.`,
    enable: (email) => `${email} è riattivato e può accedere di nuovo.`,
    'remove-totp': (email) => `I codici monouso di ${email} sono stati rimossi.`,
    'remove-passkeys': passkeys.removedAll,
    'end-session': (email) => `Il browser è stato disconnesso da ${email}.`,
    'end-sessions': (email) => `${email} è disconnesso ovunque.`,
  },
};
