/** Testi dei ruoli che richiedono un secondo fattore. */
import type { Texts } from '../en/en.ts';

export const factor: Texts['factor'] = {
  title: 'Secondo fattore obbligatorio',
  about:
    'Gli utenti di questi ruoli accedono con i codici monouso o con una passkey. Chi non ha né gli uni né l’altra deve prima configurare uno dei due: fino ad allora non si apre nessun’altra pagina.',
  rolesTitle: 'Obbligatorio per',
  saved: 'Il secondo fattore obbligatorio è stato salvato.',
  neededTitle: 'Aggiungi un secondo fattore',
  needed: (role) =>
    `In questa installazione il ruolo «${role}» richiede un secondo fattore. Le altre pagine si aprono quando ne hai aggiunto uno.`,
  usePasskeyTitle: 'Accedi con la tua passkey',
  usePasskey:
    'Il tuo ruolo richiede un secondo fattore. Il tuo account ha una passkey: accedi con quella. Se l’hai persa, chiedi a un amministratore di rimuoverla.',
};
