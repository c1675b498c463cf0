/** Testi sui limiti di client e chiavi. */
import type { Texts } from '../en/en.ts';

export const limits: Texts['limits'] = {
  nav: 'Limiti',
  title: (name) => `Limiti di ${name}`,
  correct: 'Correggi i campi segnalati e invia di nuovo il modulo.',
  saved: 'Salvato. Ogni gateway si adegua entro un secondo.',
  number: (value) => value.toLocaleString('it'),
  usedCaption:
    'Unità usate: una lettura costa 1, una scrittura 2, un’importazione 20, salvo diversa indicazione per l’operazione',
  limit: 'Limite',
  used: 'Usate',
  allowed: 'Consentite',
  none: 'nessun limite',
  standard: (units) => `${units} (valore predefinito)`,
  names: {
    minute: 'Unità in 60 secondi',
    burst: 'Unità in 1 secondo',
    day: 'Unità in un giorno (UTC)',
    month: 'Unità in un mese (UTC)',
    concurrency: 'Richieste contemporanee',
  },
  chartTitle: 'Unità negli ultimi 30 giorni',
  chartLabel: (total, most) => `${total} unità in 30 giorni, al massimo ${most} in un giorno`,
  quotaOfDay: (quota, percent, isMarked) =>
    `La quota giornaliera è di ${quota} unità${isMarked ? ' (la linea tratteggiata)' : ''}. Il giorno più intenso ne ha usato il ${percent}%.`,
  asTable: 'Come tabella',
  day: 'Giorno',
  requests: 'Richieste',
  units: 'Unità',
  limited: 'Rifiutate per un limite',
  limitsTitle: 'Limiti specifici',
  limitsText: 'Le quote giornaliere e mensili valgono per tutti i gateway insieme e ripartono a mezzanotte UTC.',
  askSupport: 'I limiti di una chiave li imposta l’assistenza.',
  emptyIsDefault: (units) => `Vuoto: il valore predefinito, ${units}.`,
  emptyIsNone: 'Vuoto: nessun limite.',
  limitProblem: 'Indica un numero intero da 1 in su, oppure lascia vuoto.',
  save: 'Salva i limiti',
  addressesTitle: 'Da dove si può usare',
  addressesText:
    'Le chiamate da ogni altro indirizzo vengono rifiutate con 403, anche con i token e quando si richiede un token.',
  addresses: 'Indirizzi e reti, uno per riga',
  addressesHint: (address) =>
    `Per esempio 192.0.2.7, 192.0.2.0/24 o 2001:db8::/32. Vuoto: tutti gli indirizzi. Il tuo indirizzo è ${address}.`,
  addressProblem: (entry) =>
    `${entry === '' ? 'L’elenco' : entry} non è valido. Indica al massimo 64 indirizzi o reti con i bit dopo il prefisso a zero.`,
  onlyDefaults: 'solo i valori predefiniti',
  everywhere: 'ogni indirizzo',
  saveAddresses: 'Salva gli indirizzi',
  ask: {
    limits: (name) => `Salvare limiti di ${name} già superati?`,
    limitsText: (name) =>
      `Entro un secondo le chiamate di ${name} vengono rifiutate, finché non finisce il giorno o il mese o il limite non viene alzato.`,
    spent: (limit, allowed, used) => `${limit}: consentite ${allowed}, usate ${used}`,
    addresses: (name) => `Rifiutare le chiamate di ${name} da altri indirizzi?`,
    addressesText: (name) =>
      `Entro un secondo ${name} si può usare solo da questi indirizzi, e le chiamate da tutti gli altri vengono rifiutate:`,
    before: 'Finora si può usare da:',
  },
  elsewhere: (calls, address) =>
    `Negli ultimi 30 giorni ${calls === 1 ? 'è stata rifiutata 1 chiamata' : `sono state rifiutate ${calls} chiamate`} da altri indirizzi, l’ultima da ${address} il`,
  elsewhereAdvice: 'Se non conosci questo indirizzo, qualcun altro ha la credenziale: sostituiscila.',
};
