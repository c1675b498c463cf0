/** Testi dell'area "restaurant". */
import type { Texts } from '../../en/en.ts';
import { deliveries } from './deliveries.ts';
import { keys } from './keys.ts';
import { notifications } from './notifications.ts';
import { webhooks } from './webhooks.ts';

export const restaurant: Texts['restaurant'] = {
  nav: 'Ristoranti',
  list: {
    title: 'Ristoranti',
    search: 'Nome o id del ristorante',
    find: 'Cerca',
    name: 'Ristorante',
    id: 'Id del ristorante',
    api: 'Accesso API',
    none: 'Al tuo account non è assegnato alcun ristorante. Chiedi a chi ti ha invitato.',
    notFound: (text: string) => `Nessuno dei tuoi ristoranti ha «${text}» nel nome o come id.`,
    showAll: 'Mostra tutti',
  },
  noMore: 'L’elenco finisce qui.',
  cancel: 'Annulla',
  back: 'Indietro',
  optional: 'facoltativo',
  overview: {
    nav: 'Accesso API',
    title: (name: string) => `Accesso API di ${name}`,
    on: 'Attivo',
    off: 'Disattivato',
    onText: 'I programmi con una chiave valida di questo ristorante e i client API autorizzati possono usare le API.',
    offText: 'Ogni chiamata API su questo ristorante viene rifiutata. Chiavi ed endpoint restano salvati.',
    turnOn: 'Attiva',
    turnOff: 'Disattiva…',
    turnedOn: (name) => `L’accesso API di ${name} è attivo.`,
    turnedOff: (name) => `L’accesso API di ${name} è disattivato.`,
    offTitle: (name: string) => `Disattivare l’accesso API di ${name}?`,
    offQuestion:
      'Entro un secondo ogni chiamata su questo ristorante viene rifiutata con API_DISABLED, finché non lo riattivi.',
    turnOffNow: 'Disattiva l’accesso API',
    state: 'Accesso API',
    id: 'Id del ristorante',
    address: 'Indirizzo delle API',
    docs: 'Documentazione',
    reference: 'Scoprire che cosa offrono le API',
  },
  keys,
  notifications,
  webhooks,
  deliveries,
};
