/** Testi sui tipi di eventi che un ristorante invia. */
import type { Texts } from '../../en/en.ts';

export const notifications: Texts['restaurant']['notifications'] = {
  nav: 'Notifiche',
  title: (name: string) => `Notifiche di ${name}`,
  intro: 'Gli eventi del ristorante vengono inviati ai tuoi endpoint webhook. Scegli quali.',
  off: 'Quando un tipo è disattivato, i suoi eventi non vengono registrati, quindi non si possono inviare nemmeno in seguito.',
  kinds: { customers: 'Clienti', orders: 'Ordini', loyaltylog: 'Registro punti', menu: 'Menu' },
  hints: {
    customers: 'Un cliente viene creato, modificato o rimosso.',
    orders: 'Un ordine arriva, viene confermato, chiuso o annullato.',
    loyaltylog: 'Vengono aggiunti o tolti punti.',
    menu: 'Cambiano categorie o prodotti del menu.',
  },
  on: 'Attivo',
  offState: 'Disattivato',
  turnedOn: (kind: string) => `${kind}: attivo`,
  turnedOff: (kind: string) => `${kind}: disattivato`,
  noEndpoint: 'Nessun endpoint attivo li riceve.',
  addEndpoint: 'Aggiungi un endpoint',
};
