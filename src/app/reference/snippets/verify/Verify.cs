using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Security.Cryptography;
using System.Text;

static class Webhooks
{
    /// <summary>`headers` with lower-case names, `body` exactly as it came, before anything parses it.</summary>
    public static bool Verify(string secret, IReadOnlyDictionary<string, string> headers, byte[] body, long nowSeconds)
    {
        string id = Field(headers, "webhook-id"), timestamp = Field(headers, "webhook-timestamp");
        if (id == "" || !long.TryParse(timestamp, NumberStyles.None, CultureInfo.InvariantCulture, out long seconds)) return false;
        if (Math.Abs(nowSeconds - seconds) > 300) return false;
        byte[] key = secret.StartsWith("whsec_", StringComparison.Ordinal)
            ? Convert.FromBase64String(secret.Substring(6))
            : Encoding.UTF8.GetBytes(secret);
        byte[] signed = Encoding.UTF8.GetBytes(id + "." + timestamp + ".").Concat(body).ToArray();
        byte[] expected;
        using (var mac = new HMACSHA256(key))
            expected = Encoding.UTF8.GetBytes("v1," + Convert.ToBase64String(mac.ComputeHash(signed)));
        return Field(headers, "webhook-signature").Split(' ')
            .Any(given => CryptographicOperations.FixedTimeEquals(expected, Encoding.UTF8.GetBytes(given)));
    }

    static string Field(IReadOnlyDictionary<string, string> headers, string name) =>
        headers.TryGetValue(name, out string value) ? value : "";
}
