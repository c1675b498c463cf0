/** Testi delle pagine sugli account dello staff. */
import type { Texts } from '../texts.ts';

export const users: Texts['users'] = {
  title: 'Utenti',
  howToCreate: 'Gli account si creano dalla riga di comando:',
  state: 'Stato',
  states: { active: 'Attivo', invited: 'Invitato', disabled: 'Disattivato' },
  secondFactor: 'Secondo fattore',
  yes: 'Sì',
  no: 'No',
  created: 'Creato',
  more: 'Altri',
  restaurants: 'Ristoranti',
  makeLink: 'Nuovo link monouso',
  linkMade: 'Consegna questo link all’utente. Funziona una volta sola, fino a',
  disable: 'Disattiva',
  enable: 'Riattiva',
  endSessions: 'Chiudi tutte le sessioni',
  notYourself:
    'Per il tuo account deve farlo un altro amministratore; le tue sessioni sono nella pagina del tuo account.',
  done: {
    disable: 'L’account è disattivato e ogni sessione è chiusa.',
    enable: 'L’account può accedere di nuovo.',
    'remove-totp': 'Il secondo fattore è stato rimosso.',
    'end-session': 'La sessione è chiusa.',
    'end-sessions': 'Tutte le sessioni dell’account sono chiuse.',
  },
};
