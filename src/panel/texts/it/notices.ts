/** Testi degli avvisi. */
import type { Texts } from '../en/en.ts';

export const notices: Texts['notices'] = {
  title: 'Avvisi',
  about: 'Orderpass invia ogni avviso una volta sola, poco dopo il fatto.',
  none: 'Non ricevi avvisi.',
  change: 'Modifica gli avvisi',
  which: 'Avvisami quando',
  kinds: {
    endpoint_disabled: 'un endpoint webhook viene disattivato perché il destinatario non risponde',
    key_ending: 'una chiave API scade entro 7 giorni',
    refusals: 'le richieste rifiutate sono insolitamente numerose',
    audit_broken: 'l’audit è stato alterato',
  },
  where: 'Dove',
  mail: (email) => `Per email a ${email}`,
  mailOff: 'Questa installazione non ha un server di posta: finché non ne avrà uno, non viene inviata nessuna email.',
  url: 'A questo indirizzo (webhook)',
  urlHint: 'Vi viene inviato un oggetto JSON con `text` e `data`. Lascia vuoto per mantenere l’indirizzo salvato.',
  urlProblem: 'A questo indirizzo non si può inviare nulla: deve iniziare con https:// e portare a un host pubblico.',
  stored: (origin) => `È salvato un indirizzo su ${origin}.`,
  remove: 'Rimuovi l’indirizzo salvato',
  saved: 'I tuoi avvisi sono stati salvati.',
};
