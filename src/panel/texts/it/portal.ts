/** Testi delle pagine per i referenti di un client API, e della pagina in cui l’assistenza li invita. */
import type { Texts } from '../en/en.ts';

export const portal: Texts['portal'] = {
  title: 'I tuoi client API',
  intro: 'Scegli il client di cui vuoi occuparti.',
  none: 'Il tuo account non è più referente di alcun client API. Se ti serve l’accesso, chiedi all’assistenza.',
  caption: 'Client API del tuo account',
  switch: 'Cambia client',
  switchLabel: 'Client',
  overview: 'Client',
  disabled:
    'Questo client è disabilitato definitivamente: ogni chiamata viene rifiutata e qui non si può modificare nulla. Chiedine uno nuovo all’assistenza.',
  quarantined:
    'Questo client è in quarantena: ogni chiamata viene rifiutata finché l’assistenza non toglie la quarantena, e qui non si può modificare nulla.',
  noCredential:
    'Nessuna delle sue credenziali è attiva, quindi qui non si può modificare nulla. Chiedi un nuovo segreto all’assistenza.',
  restaurants: 'Ristoranti che può raggiungere',
  restaurantsCaption: 'Ristoranti di questo client',
  docs: 'Guida e documentazione',
  docsText: 'Come chiamare le API, ricevere i webhook e gestire gli errori.',
  askSupport: 'Permessi, limiti e ristoranti li cambia l’assistenza.',
  credentials: {
    nav: 'Credenziali',
    title: (name) => `Credenziali di ${name}`,
    rotateText:
      'Viene creato un nuovo segreto accanto a quello vecchio. Funzionano entrambi fino alla scadenza di quello vecchio; intanto installa quello nuovo.',
    rotatedText: (name) =>
      `Installalo nei programmi di ${name}. I segreti precedenti scadono come hai scelto, o prima se era già stato deciso.`,
    saved: 'L’ho salvato: torna alle credenziali',
    noKeys: 'Non c’è ancora nessuna chiave pubblica.',
    addKey: 'Aggiungi una chiave pubblica',
    addKeyText:
      'Per private_key_jwt: EC su P-256, Ed25519 o RSA di almeno 2.048 bit. Non incollare mai una chiave privata.',
    jwk: 'Chiave pubblica come JSON Web Key',
    keyProblem:
      'Non è una chiave pubblica che si possa aggiungere. Incolla solo la parte pubblica, come un unico oggetto JSON.',
    keyKnown: 'Non è stata aggiunta: il client ha già una chiave con questo id, oppure ne ha già 20.',
    keyAdded: (id) => `La chiave ${id} è stata aggiunta. Ogni gateway la accetta entro un secondo.`,
    noCertificates: 'Non c’è ancora nessun certificato.',
    certificatesCaption: 'Certificati TLS del client. Aggiungi il successivo prima che uno scada',
    addCertificate: 'Aggiungi un certificato',
    addCertificateText: 'I precedenti restano validi. Non incollare mai una chiave privata.',
    pem: 'Certificato in formato PEM',
    certificateProblem:
      'Non è un certificato che si possa aggiungere. Incolla un solo certificato valido in formato PEM, senza la sua chiave.',
    certificateKnown: 'Non è stato aggiunto: il client ha già questo certificato, oppure ne ha già 20.',
    certificateAdded: (id) => `Il certificato ${id} è stato aggiunto. Ogni gateway lo accetta entro un secondo.`,
    remove: 'Rimuovi',
    removeKeyTitle: (id, name) => `Rimuovere la chiave ${id} di ${name}?`,
    last: 'È l’ultima credenziale attiva del client. Senza, ogni chiamata viene rifiutata e solo l’assistenza può dargliene un’altra.',
    removeKeyText:
      'Entro un secondo non viene più emesso alcun token per una firma di questa chiave. Non si può ripristinare.',
    removeCertificateTitle: (id, name) => `Rimuovere il certificato ${id} di ${name}?`,
    removeCertificateText:
      'Entro un secondo le chiamate con questo certificato vengono rifiutate e i token legati ad esso smettono di valere. Non si può ripristinare.',
    removed: (id, name) => `Rimosso: ${id} di ${name}.`,
  },
  refusal: {
    title: 'Perché la richiesta è stata rifiutata',
    unknown:
      'Di questa richiesta non è conservato nulla. I motivi si conservano per 7 giorni, per le richieste rifiutate con 400, 401, 403 e 429; uno nuovo compare entro un secondo.',
    back: 'Torna alle richieste',
  },
  usage: { nav: 'Consumo', title: (name) => `Consumo e limiti di ${name}` },
  mayNot: 'Questo client non può leggere questi dati con le API, quindi qui non viene mostrato nulla.',
  webhooks: {
    nav: 'Webhook',
    title: (name) => `Endpoint webhook di ${name}`,
    intro: 'Gli endpoint che questo client ha creato con le API, e se gli eventi arrivano.',
    empty: 'Questo client non ha endpoint webhook per un ristorante che può raggiungere.',
    noneHere: 'Nessun endpoint di questa pagina è per un ristorante che può raggiungere.',
    caption: 'Endpoint webhook, i più recenti per primi',
    restaurant: 'Ristorante',
    on: 'Abilitato',
    off: 'Disabilitato',
    deliveries: 'Consegne',
    deliveriesCaption: 'Consegne, le più recenti per prime',
    noDeliveries: 'Non c’è ancora nessuna consegna.',
    delivery: (event) => `Consegna di ${event}`,
    back: 'Torna all’endpoint',
  },
  contacts: {
    nav: 'Referenti',
    title: (name) => `Referenti di ${name}`,
    intro:
      'Un referente è una persona dell’integratore. Accede qui e vede solo questo client: credenziali, richieste, consumo e webhook. Permessi, limiti e ristoranti restano all’assistenza.',
    empty: 'Questo client non ha ancora nessun referente.',
    caption: 'Referenti di questo client',
    email: 'Email',
    state: 'Stato',
    secondFactor: 'Secondo fattore',
    invite: 'Invita un referente',
    inviteText: 'Il referente riceve un link che funziona una volta sola, entro 24 ore, e imposta la password.',
    inviteSubmit: 'Invita',
    newLink: 'Nuovo link',
    mailNewLink: 'Invia un nuovo link',
    emailProblem: 'Indica un indirizzo email.',
    taken:
      'Questa email non si può invitare: appartiene a un account dello staff o disattivato, oppure il client o la persona ha raggiunto il massimo.',
    added: (email, name) => `${email} ha già un account e ora vede anche ${name}.`,
    remove: 'Rimuovi',
    removeTitle: (email, name) => `Rimuovere ${email} dai referenti di ${name}?`,
    removeText:
      'Dal prossimo clic la persona non vede più questo client. I segreti che conosce e le chiavi che possiede funzionano ancora: sostituisci i segreti e rimuovi le chiavi pubbliche e i certificati che ha aggiunto.',
    addedText:
      'La persona ha aggiunto le credenziali elencate qui sotto, che restano utilizzabili finché non le rimuovi:',
    addedKey: 'Chiave pubblica',
    endedBy: 'Il comando per rimuoverla:',
    addedCertificate: 'Certificato',
    removed: (email, name) => `${email} non è più referente di ${name}.`,
  },
};
