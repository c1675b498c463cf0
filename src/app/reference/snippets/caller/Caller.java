import java.io.IOException;
import java.math.BigInteger;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.ECParameterSpec;
import java.security.spec.ECPoint;
import java.security.spec.ECPublicKeySpec;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Who calls, as the gateway states it. Without a library; with one, check the same: algorithm, type, issuer, audience, time. */
final class Caller {
    final String id;
    final String kind;
    final String scope;

    private Caller(String claims) {
        id = text(claims, "sub");
        kind = text(claims, "kind");
        scope = text(claims, "scope");
    }

    /** The published keys. Keep them for some minutes, and read them again when a token names another one. */
    static Map<String, PublicKey> fetchKeys(String gateway) throws IOException, InterruptedException, GeneralSecurityException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(gateway + "/api/oauth/jwks")).timeout(Duration.ofSeconds(5)).build();
        String set = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body();
        AlgorithmParameters curve = AlgorithmParameters.getInstance("EC");
        curve.init(new ECGenParameterSpec("secp256r1"));
        Map<String, PublicKey> keys = new HashMap<>();
        for (Matcher each = Pattern.compile("\\{[^{}]*\\}").matcher(set); each.find();) {
            ECPoint point = new ECPoint(number(text(each.group(), "x")), number(text(each.group(), "y")));
            ECPublicKeySpec spec = new ECPublicKeySpec(point, curve.getParameterSpec(ECParameterSpec.class));
            keys.put(text(each.group(), "kid"), KeyFactory.getInstance("EC").generatePublic(spec));
        }
        return keys;
    }

    /** Throws for everything that is not a fresh token of the gateway for this service. The issuer is its public address. */
    static Caller read(String token, String issuer, String audience, Map<String, PublicKey> keys, long nowSeconds)
            throws GeneralSecurityException {
        String[] parts = token.split("\\.", -1);
        if (parts.length != 3) throw new GeneralSecurityException("not a token");
        String header = decoded(parts[0]);
        if (!"ES256".equals(text(header, "alg")) || !"orderpass-identity+jwt".equals(text(header, "typ")))
            throw new GeneralSecurityException("not a token of a caller");
        PublicKey key = keys.get(text(header, "kid"));
        if (key == null) throw new GeneralSecurityException("unknown key");
        Signature signature = Signature.getInstance("SHA256withECDSAinP1363Format");
        signature.initVerify(key);
        signature.update((parts[0] + "." + parts[1]).getBytes(StandardCharsets.US_ASCII));
        if (!signature.verify(bytes(parts[2]))) throw new GeneralSecurityException("wrong signature");
        // Verified, so the text is the gateway's own: flat members in JSON without spaces.
        String claims = decoded(parts[1]);
        Matcher expires = Pattern.compile("\"exp\":(\\d{1,12})[,}]").matcher(claims);
        if (!issuer.equals(text(claims, "iss")) || !audience.equals(text(claims, "aud")) || !expires.find()
                || nowSeconds >= Long.parseLong(expires.group(1)))
            throw new GeneralSecurityException("not for this service, or expired");
        return new Caller(claims);
    }

    private static String text(String json, String name) {
        Matcher found = Pattern.compile("\"" + name + "\":\"([^\"\\\\]*)\"").matcher(json);
        return found.find() ? found.group(1) : "";
    }

    private static byte[] bytes(String part) throws GeneralSecurityException {
        try {
            return Base64.getUrlDecoder().decode(part);
        } catch (IllegalArgumentException error) {
            throw new GeneralSecurityException(error);
        }
    }

    private static String decoded(String part) throws GeneralSecurityException {
        return new String(bytes(part), StandardCharsets.UTF_8);
    }

    private static BigInteger number(String part) throws GeneralSecurityException {
        return new BigInteger(1, bytes(part));
    }
}
