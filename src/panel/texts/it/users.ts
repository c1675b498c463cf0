/** Testi delle pagine sugli account dello staff. */
import type { Texts } from '../en/en.ts';

export const users: Texts['users'] = {
  title: 'Utenti',
  howToCreate: 'Gli account si creano dalla riga di comando:',
  state: 'Stato',
  states: { active: 'Attivo', invited: 'Invitato', disabled: 'Disattivato' },
  secondFactor: 'Secondo fattore',
  yes: 'Sì',
  no: 'No',
  created: 'Creato',
  restaurants: 'Ristoranti',
  makeLink: 'Nuovo link monouso',
  linkMade:
    'Consegna questo link all’utente. Funziona una volta sola e non vale più se ne viene creato uno nuovo o se l’account viene disattivato. Scade il',
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
      text: 'Da quel momento per accedere basta la password. Anche i codici di recupero non varranno più.',
    },
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
    'end-session': (email) => `Il browser è stato disconnesso da ${email}.`,
    'end-sessions': (email) => `${email} è disconnesso ovunque.`,
  },
};
