/** Testi sulle richieste di client e chiavi. */
import type { Texts } from '../en/en.ts';

export const requests: Texts['requests'] = {
  nav: 'Richieste',
  title: (name) => `Richieste di ${name}`,
  intro: (days) =>
    days === 0
      ? 'Questa installazione non conserva le richieste.'
      : `Le richieste ${days === 1 ? 'dell’ultimo giorno' : `degli ultimi ${days} giorni`} rifiutate o non riuscite, e tutte le scritture. Compaiono entro un secondo o due. Le letture riuscite vengono solo contate.`,
  toHours: 'Conteggi per ora',
  toList: 'Singole richieste',
  caption: 'Richieste, dalla più recente',
  at: 'Risposta',
  operation: 'Operazione',
  status: 'Stato',
  code: 'Codice di errore',
  duration: 'Durata',
  milliseconds: (ms) => `${ms.toLocaleString('it')} ms`,
  restaurant: 'Ristorante',
  id: 'Id della richiesta',
  key: 'Chiave di idempotenza',
  explain: 'Perché?',
  since: 'Da (UTC)',
  until: 'Prima di (UTC)',
  filter: 'Filtra',
  showAll: 'Mostra tutto',
  anyStatus: 'Qualsiasi stato',
  statuses: {
    '2xx': '2xx: riuscite',
    '3xx': '3xx: reindirizzate',
    '4xx': '4xx: rifiutate',
    '5xx': '5xx: non riuscite',
    none: 'Senza risposta',
  },
  noAnswer: 'senza risposta',
  unknown: 'operazione inesistente',
  empty: 'Non c’è ancora nessuna richiesta.',
  nothingFits: 'Nessuna richiesta corrisponde.',
  noneSoFar: 'Finora nessuna richiesta corrisponde. La pagina successiva cerca più indietro.',
  hours: 'Conteggi per ora',
  hoursTitle: (name) => `Richieste di ${name} per ora`,
  hoursIntro: (days) =>
    days === 0
      ? 'Questa installazione non conserva le richieste.'
      : `Tutto ciò che è stato chiamato ${days === 1 ? 'nell’ultimo giorno' : `negli ultimi ${days} giorni`}, per ora (UTC) e operazione.`,
  hoursCaption: 'Richieste per ora, dalla più recente',
  hour: 'Ora',
  reads: 'Letture',
  writes: 'Scritture',
  refused: 'Rifiutate',
  failed: 'Non riuscite',
};
