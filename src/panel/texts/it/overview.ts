/** Testi della pagina iniziale, della ricerca e della scelta del ristorante. */
import type { Texts } from '../en/en.ts';

const times = (count: number): string => (count === 1 ? 'una volta' : `${count} volte`);

export const overview: Texts['overview'] = {
  pages: 'Pagine',
  atLeast: (count, max) => (count >= max ? `${max}+` : String(count)),
  looked: (count, all) => `Controllati solo i primi ${count} dei tuoi ${all} ristoranti, per nome.`,
  lookedNewest: (count) => `Controllati solo i ${count} ristoranti più recenti.`,
  noSandboxes: 'Le sandbox sono escluse.',
  steps: {
    title: (name) => `Primi passi di ${name}`,
    intro: (done, all) => `Completati ${done} su ${all}. L’elenco sparisce quando sono tutti completati.`,
    done: 'Fatto',
    open: 'Da fare',
    names: {
      key: 'Crea una chiave API, o fai autorizzare un’applicazione dall’assistenza',
      call: 'Chiama l’API per la prima volta',
      endpoint: 'Aggiungi un endpoint per i webhook',
      event: 'Invia all’endpoint un evento di prova e fagli confermare il primo evento',
      order: 'Ricevi il primo ordine',
    },
  },
  days: {
    title: 'Ordini di oggi',
    restaurant: 'Ristorante',
    today: 'Oggi',
    lastWeek: 'Una settimana fa, stessa ora',
    none: 'Al tuo account non appartiene nessun ristorante. Chiedi all’assistenza di aggiungere il tuo.',
    quiet: 'Oggi non è arrivato nessun ordine. Controlla che la cassa li invii con una chiave attiva.',
    all: 'Tutti i ristoranti',
  },
  failing: {
    title: 'Endpoint con errori',
    since: 'Errori dal',
    disabled: 'Disabilitato',
    none: 'Nessun endpoint ha errori. Un evento di prova, dalla sua pagina, mostra se il ricevitore risponde.',
    show: 'Webhook',
  },
  ending: {
    title: 'Chiavi in scadenza',
    ends: 'Scade',
    none: 'Entro 30 giorni non scade nessuna chiave ancora da sostituire. Sostituisci una volta all’anno le chiavi senza scadenza.',
    show: 'Chiavi API',
  },
  quarantined: {
    title: 'In quarantena',
    lift: 'Toglila',
    none: 'Nessuna chiave e nessun client è in quarantena. Per metterne uno in quarantena, apri la pagina del client.',
    show: 'Client',
  },
  callers: {
    title: 'Client e chiavi con errori',
    part: (bad, calls) => `${bad} richieste su ${calls} rifiutate o non riuscite nelle ultime 2 o 3 ore`,
    none: 'Tra i client e le chiavi più attivi di oggi nessuno ha molte richieste rifiutate. Cercane uno per vedere tutte le sue richieste.',
    show: 'Client',
  },
  limited: {
    title: 'Vicini ai limiti',
    refused: (count) => `rifiutato ${times(count)} oggi per un limite`,
    used: (percent, period) => `usato il ${percent}% delle unità ${period === 'day' ? 'del giorno' : 'del mese'}`,
    none: 'Oggi nessun client e nessuna chiave ha usato i quattro quinti dei suoi limiti. Si impostano nella pagina Limiti del client.',
    show: 'Client',
  },
  refusals: {
    title: 'Ultime richieste rifiutate',
    times,
    helps: 'Chi può aiutare:',
    helpers: {
      developer: 'lo sviluppatore del programma',
      owner: 'il titolare del ristorante',
      support: 'l’assistenza, con un’autorizzazione, un permesso o una rete',
      ownerNetworks: 'il titolare del ristorante, in Chiavi API, Limiti',
      newClient: 'l’assistenza, che crea un nuovo client',
      newSecret: 'l’assistenza, che crea un nuovo segreto',
      quarantine: 'l’assistenza, che toglie la quarantena',
    },
    none: 'Di recente non è stata rifiutata nessuna richiesta di un client o di una chiave noti. Con l’id della richiesta ne trovi una più vecchia.',
    show: 'Perché è stata rifiutata?',
  },
  hours: {
    refused: 'Richieste rifiutate all’ora',
    issued: 'Token emessi all’ora',
    span: 'Le ultime 24 ore',
    noneRefused: 'Nessuna richiesta rifiutata. I grafici mostrano periodi più lunghi.',
    noneIssued: 'Nessun token emesso. I client lo richiedono a /api/oauth/token.',
    show: 'Grafici',
  },
  addresses: {
    title: 'Indirizzi insoliti',
    elsewhere: (count) => `usato ${times(count)} oggi fuori dalle sue reti`,
    from: 'l’ultima volta da',
    onlyRefused: (count) => `rifiutato ${times(count)} nelle ultime 24 ore, senza nessuna richiesta consentita`,
    none: 'Nessun indirizzo insolito. Limita una chiave o un client ad alcune reti: le chiamate da altrove compaiono qui.',
    show: 'Grafici per indirizzo',
  },
  integrity: {
    title: 'Ultima verifica del registro',
    sound: 'Integro',
    broken: 'Modificato',
    running: 'In corso',
    interrupted: 'Interrotta',
    events: (count) => (count === 1 ? '1 evento' : `${count} eventi`),
    never: 'Il registro non è mai stato verificato dal pannello. Verificalo ora, e poi una volta alla settimana.',
    show: 'Integrità',
  },
  decisions: {
    title: 'Da decidere',
    quarantined: 'è in quarantena: guarda i suoi eventi; l’assistenza può togliere la quarantena o revocare l’accesso',
    dryRuns: (count) =>
      count === '1'
        ? '1 client o chiave sarebbe rifiutato dai permessi in prova'
        : `${count} client o chiavi sarebbero rifiutati dai permessi in prova`,
    verifyLate: 'Da una settimana il registro non viene verificato dal pannello.',
    broken: 'Il registro è stato modificato: scopri chi poteva scrivere nell’archivio.',
    none: 'Non c’è nulla da decidere. Le regole nuove si provano prima, e compaiono qui.',
    show: 'Permessi in prova',
  },
  short: {
    title: 'In breve',
    quarantined: 'In quarantena',
    failing: 'Con molte richieste rifiutate',
    limited: 'Vicini ai limiti',
    dryRuns: 'Rifiutati dai permessi in prova',
    orders: 'Ordini di oggi (UTC)',
    show: 'Client',
  },
  own: {
    requests: 'Richieste di oggi (UTC)',
    limited: 'Rifiutate oggi per un limite',
    refusal: 'Ultimo rifiuto',
    noRefusal: (days) => `nessuno negli ultimi ${days} giorni`,
    endpoints: 'Endpoint con errori',
    show: 'Mostra il client',
    more: (count, all) => `Sono mostrati i primi ${count} dei tuoi ${all} client API.`,
  },
  program: {
    title: 'Processi attivi',
    version: 'Versione',
    release: (version) => `Questa pagina viene da Orderpass ${version}.`,
    process: 'Processo',
    role: 'Ruolo',
    table: 'Tabella dei percorsi',
    refused: 'la tabella dei percorsi più recente è stata rifiutata',
    none: 'Nessun processo è ancora in elenco. Uno nuovo compare entro dieci secondi dal suo avvio.',
    older: 'precedente',
    other: 'diversa da quella di questa pagina',
    hint: 'L’elenco si aggiorna ogni pochi secondi.',
    show: 'Guida operativa',
  },
  search: {
    title: 'Cerca ovunque',
    label: 'Cerca ovunque',
    placeholder: 'Cerca ovunque: /',
    submit: 'Cerca',
    hint: {
      owner:
        'Un id dei tuoi ristoranti, chiavi, endpoint, ordini (ord_…), clienti, eventi (evt_…), consegne (dlv_…) o richieste (req_…), l’inizio del nome, dell’email o del telefono di un cliente, oppure una parte del nome di una chiave o dell’URL di un endpoint.',
      support:
        'Un id di ristorante, client (opc_…), segreto, chiave, endpoint, ordine (ord_…), cliente, evento (evt_…), consegna (dlv_…) o richiesta rifiutata (req_…), parole del nome di un ristorante o di un client, il nome completo di una chiave, l’inizio dell’URL o dell’host di un endpoint, oppure l’email o il telefono completi di un cliente; di un referente l’inizio dell’email fino alla @.',
      security:
        'Un id di ristorante, client, segreto, chiave o richiesta, parole del nome di un ristorante o di un client, oppure il nome completo di una chiave. I risultati portano al registro.',
      admin:
        'Un id qualsiasi di ristorante, client, segreto, chiave, endpoint, ordine, cliente, evento, consegna, richiesta o utente, l’inizio dell’email di un utente, parole del nome di un ristorante o di un client, il nome completo di una chiave, l’inizio dell’URL o dell’host di un endpoint, oppure l’email o il telefono completi di un cliente.',
    },
    secret:
      'Sembra una chiave, un segreto o un token. Non è stato cercato: non deve comparire in un indirizzo. Se può essere trapelato, la sicurezza può revocarlo nella pagina «Credenziale trapelata». Cerca invece il suo id, la parte prima del secondo trattino basso.',
    none: (text) =>
      `Niente di ciò che puoi vedere corrisponde a «${text}». Controlla l’id, o scrivi solo l’inizio di una parola.`,
    ofRestaurants:
      'Ordini, clienti, endpoint, consegne ed eventi appartengono a un ristorante. Possono aprirli l’assistenza, gli amministratori e il suo titolare.',
    searchedPart: (count, all) =>
      `Clienti, chiavi, endpoint e richieste sono stati cercati in ${count} dei tuoi ${all} ristoranti.`,
    tooMany: 'Sono mostrati i primi dieci. Scrivi di più per vederne altri.',
    groups: {
      restaurants: 'Ristoranti',
      clients: 'Client',
      keys: 'Chiavi API',
      endpoints: 'Endpoint dei webhook',
      customers: 'Clienti',
      users: 'Utenti',
      contacts: 'Referenti',
      requests: 'Richieste',
    },
  },
  crumbs: {
    label: 'Dove sei',
    restaurants: 'Ristoranti',
    other: 'Un altro ristorante',
    all: 'Tutti i ristoranti',
  },
};
