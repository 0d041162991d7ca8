//! Signs that give a secret away: the words of a variable's name, and the form of its value.

use std::sync::LazyLock;

use regex::bytes::RegexSet;

/// Names that say where something is, and that what a command does depends on.
const NEVER: [&[u8]; 3] = [b"PATH", b"PWD", b"OLDPWD"];

/// Whole words, in the singular; where there is a `_`, its words in a row, or grown together.
const WORDS: [&str; 5] = [
    // What a person types.
    "PASS PASSCODE PASSKEY PASSPHRASE PASSWD PASSWORD PASSWRD PSWD PW PWD PIN MNEMONIC \
     SEED_PHRASE RECOVERY_CODE BACKUP_CODE ACCESS_CODE MFA OTP HOTP TOTP",
    // Passwords grown together with what they are for.
    "DBPASS DBPW DBPWD FTPPASS HTPASSWD MYSQLPASS PGPASS ROOTPASS SMTPPASS SSHPASS USERPASS \
     VNCPASS",
    // What a program shows.
    "AUTH AUTHORIZATION BASICAUTH BEARER COOKIE CRED CREDENTIAL CSRF JSESSIONID JWE JWT NETRC \
     OAUTH PAT PHPSESSID SAS SECRET SERVICE_ACCOUNT SESSID SESSION SESSIONID TOKEN XSRF",
    // Keys, and what is made with them.
    "ACCESSKEY ACCOUNTKEY APIKEY AUTHKEY CERT CERTIFICATE DEPLOYKEY ENCRYPTIONKEY HMAC JWK KEY \
     KEYSTORE KEYTAB LICENSEKEY MASTERKEY PEM PEPPER PFX PKEY PRIV PRIVATE PRIVATEKEY PRIVKEY \
     PSK SALT SECRETKEY SIG SIGNATURE SIGNINGKEY SSHKEY",
    // Addresses that let in whoever knows them.
    "AMQP_URL BROKER_URL CACHE_URL CLOUDINARY_URL CONN_STR CONNECTION_STRING DATABASE_URI \
     DATABASE_URL DB_URI DB_URL DSN JDBC_URL MONGO_URI MONGO_URL MONGODB_URI MONGODB_URL \
     MYSQL_URL POSTGRES_URL POSTGRESQL_URL RABBITMQ_URL REDIS_URL WEBHOOK",
];

/// Endings that no harmless word has: `PGPASSWORD`, `CLIENTSECRET`, `authtoken`.
const ENDINGS: [&str; 7] =
    ["APIKEY", "CREDENTIAL", "PASSPHRASE", "PASSWD", "PASSWORD", "SECRET", "TOKEN"];

/// Forms of values, none of which follows right upon a letter, a digit or `_`. What comes of a
/// prefix is long enough that no ordinary word is taken for one. Before each stand its signs, apart
/// from each other by a blank: whatever has the form has one of them, in some case of its letters.
const FORMS: &[(&str, &str)] = &[
    // A password in a URL. A port with a path after it is none.
    ("://", r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#@:]*:[^\s/@]*[^\s/@0-9][^\s@]*@"),
    ("://", r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#@:]*:[0-9]+@"),
    // A password, token or signature among parameters, of a URL or of a connection.
    ("=", r"[A-Za-z0-9_.-]*(?i:passw(?:or)?d|pwd|secret|token|signature|sig)=[^\s&;]"),
    (
        "=",
        r"[A-Za-z0-9_.-]*(?i:api|access|account|auth|master|private|secret)[_.-]?(?i:key)=[^\s&;]",
    ),
    ("bearer basic", r"(?i:bearer|basic)\s+[A-Za-z0-9._~+/=-]{16,}"),
    ("-----begin", r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY"),
    ("age-secret-key-1", r"AGE-SECRET-KEY-1[A-Z0-9]{20,}"),
    // JSON Web Tokens, and what is encrypted as one.
    ("eyj", r"eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]*"),
    // Forges.
    ("gh", r"gh[oprsu]_[A-Za-z0-9]{16,}"),
    ("github_pat_", r"github_pat_[A-Za-z0-9_]{16,}"),
    ("gl", r"gl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rt|rtr|soat|wt)-[A-Za-z0-9_-]{16,}"),
    ("att atb", r"(?:ATATT3|ATCTT3|ATBB)[A-Za-z0-9_=-]{16,}"),
    // Registries.
    ("npm_", r"npm_[A-Za-z0-9]{24,}"),
    ("pypi-", r"pypi-[A-Za-z0-9_-]{16,}"),
    ("rubygems_ cio", r"(?:rubygems_|cio)[A-Za-z0-9]{32,}"),
    ("dckr_", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{16,}"),
    // Clouds.
    ("akia asia abia acca", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    ("ltai", r"LTAI[A-Za-z0-9]{12,}"),
    ("aiza", r"AIza[A-Za-z0-9_-]{30,}"),
    ("gocspx- ya29.", r"(?:GOCSPX-|ya29\.)[A-Za-z0-9_-]{16,}"),
    ("do", r"do[opr]_v1_[a-f0-9]{32,}"),
    ("hv", r"hv[bsr]\.[A-Za-z0-9_-]{16,}"),
    (".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{16,}"),
    (
        "dp. pul- tskey- glsa_ sntrys_ sbp_ ops_",
        r"(?:dp\.[a-z]{2,5}\.|pul-|tskey-|glsa_|sntrys_|sbp_|ops_)[A-Za-z0-9_=/+-]{20,}",
    ),
    // Models. Of many, the one prefix.
    ("sk-", r"sk-[A-Za-z0-9_-]{16,}"),
    ("hf_ gsk_ r8_ nvapi- xai- pplx-", r"(?:hf_|gsk_|r8_|nvapi-|xai-|pplx-)[A-Za-z0-9_-]{24,}"),
    // Payments and shops. What begins with `pk_` is public.
    ("k_", r"[rs]k_(?:live|test|prod)_[A-Za-z0-9]{8,}"),
    (
        "sq0 shp whsec_ lin_api_",
        r"(?:sq0(?:atp|csp)-|shp(?:at|ca|pa|ss)_|whsec_|lin_api_)[A-Za-z0-9_+/=-]{16,}",
    ),
    // Messages and mail.
    ("xox xapp-", r"(?:xox[a-z](?:\.xox[a-z])?|xapp)-[A-Za-z0-9-]{8,}"),
    ("sg.", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("xkeysib- key-", r"(?:xkeysib-|key-)[a-f0-9]{32,}"),
    (
        "hooks.slack.com discord :aa",
        concat!(
            r"(?:hooks\.slack\.com/[a-z]+/|discord(?:app)?\.com/api/webhooks/",
            r"|[0-9]{8,10}:AA[\w-]{30,})"
        ),
    ),
];

/// The forms, together. Where they could not be told apart, every value would count as one.
static VALUES: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    let after_no_word = |(_, form): &(_, &str)| format!("(?-u)(?:^|[^A-Za-z0-9_])(?:{form})");
    RegexSet::new(FORMS.iter().map(after_no_word)).ok()
});

/// Returns whether a name says that its value is a secret.
pub(super) fn is_secret_name(name: &[u8]) -> bool {
    if NEVER.contains(&name) {
        return false;
    }
    let runs = words(name, false);
    // `apiKey` is two words; `Password` and `tOKEN` are one each.
    has_secret_words(&runs) || has_secret_words(&words(name, true))
}

/// Returns whether a value has the form of a secret, or holds one.
pub(super) fn is_secret_value(value: &[u8]) -> bool {
    has_sign(value) && VALUES.as_ref().is_none_or(|forms| forms.is_match(value))
}

/// Returns whether a form is worth a look: to compile them takes a tenth of a short run.
fn has_sign(value: &[u8]) -> bool {
    let signs = || FORMS.iter().flat_map(|(signs, _)| signs.split(' '));
    value.len() > SHORT || signs().any(|sign| has_in_any_case(value, sign.as_bytes()))
}

fn has_in_any_case(value: &[u8], sign: &[u8]) -> bool {
    value.windows(sign.len()).any(|part| part.eq_ignore_ascii_case(sign))
}

/// Longer values are searched for the forms at once.
const SHORT: usize = 4096;

/// The runs of letters of a name, in capitals; apart also where a small letter is followed by a
/// capital, and before the last of some capitals that a small letter follows.
fn words(name: &[u8], by_case: bool) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for (index, byte) in name.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| name.get(index));
        let after = name.get(index.saturating_add(1));
        let begins = byte.is_ascii_uppercase()
            && (before.is_some_and(u8::is_ascii_lowercase)
                || after.is_some_and(u8::is_ascii_lowercase));
        if !byte.is_ascii_alphabetic() || (by_case && begins) {
            words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
        }
        if byte.is_ascii_alphabetic() {
            word.push(char::from(byte.to_ascii_uppercase()));
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

fn has_secret_words(words: &[String]) -> bool {
    let is_ending = |word: &str| ENDINGS.iter().any(|ending| word.ends_with(ending));
    words.iter().any(|word| is_ending(word) || is_ending(singular(word)))
        || WORDS.iter().flat_map(|some| some.split(' ')).any(|secret| is_among(secret, words))
}

/// Returns whether the words of a secret stand among the words in a row, or as one.
fn is_among(secret: &str, words: &[String]) -> bool {
    let count = secret.split('_').count();
    let is_same = |(word, part): (&String, &str)| is_word(word, part);
    let in_a_row = |row: &[String]| row.iter().zip(secret.split('_')).all(is_same);
    words.windows(count).any(in_a_row)
        || (count > 1 && words.iter().any(|word| is_word(word, &secret.replace('_', ""))))
}

fn is_word(word: &str, part: &str) -> bool {
    word == part || singular(word) == part
}

fn singular(word: &str) -> &str {
    word.strip_suffix('S').unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words that people really name secrets with, each alone enough.
    const SECRET_WORDS: [&str; 8] = [
        "PASS PASSWORD PASSWD PASSPHRASE PASSCODE PWD PW PAT JWT TOKEN SECRET CRED",
        "CREDENTIAL PIN OTP TOTP DSN DATABASE_URL REDIS_URL MONGO_URL MONGODB_URI",
        "POSTGRES_URL MYSQL_URL AMQP_URL BROKER_URL CONNECTION_STRING WEBHOOK CERT",
        "CERTIFICATE KEY APIKEY API_KEY PRIVATE PRIVATE_KEY AUTH OAUTH AUTHORIZATION",
        "SESSION SESSIONID COOKIE SIGNATURE SIG SALT PEPPER BEARER NETRC HMAC PSK PEM",
        "KEYSTORE CSRF MNEMONIC SEED_PHRASE SAS SSHPASS PGPASSWORD MYSQLPASSWORD",
        "CLIENTSECRET AUTHTOKEN ACCESSKEY MASTERKEY HTPASSWD JSESSIONID RECOVERY_CODE",
        "SERVICE_ACCOUNT MFA",
    ];

    /// Where a word can stand: before, between and behind others.
    const POSITIONS: [&str; 12] = [
        "@",
        "@S",
        "MY_@",
        "@_FILE",
        "MY_@_2",
        "MY_@S_OLD",
        "__@__",
        "my-@",
        "app.@.x",
        "X2@",
        "@1",
        "P4@9",
    ];

    /// As shells, programs and files write it.
    const SPELLINGS: [fn(&str) -> String; 3] =
        [str::to_ascii_uppercase, str::to_ascii_lowercase, capitalized];

    fn capitalized(name: &str) -> String {
        let lower = name.to_ascii_lowercase();
        let mut bytes = lower.into_bytes();
        for index in 0..bytes.len() {
            let follows = index.checked_sub(1).is_none_or(|i| !bytes[i].is_ascii_alphabetic());
            if follows {
                bytes[index] = bytes[index].to_ascii_uppercase();
            }
        }
        String::from_utf8(bytes).expect("ASCII")
    }

    #[test]
    fn a_secret_word_is_found_wherever_it_stands_and_however_it_is_written() {
        for word in SECRET_WORDS.iter().flat_map(|some| some.split(' ')) {
            for position in POSITIONS {
                for spelled in SPELLINGS {
                    let name = spelled(&position.replace('@', word));
                    let is_never = NEVER.contains(&name.as_bytes());
                    assert_eq!(is_secret_name(name.as_bytes()), !is_never, "{name}");
                }
            }
        }
    }

    /// A letter on either side makes another word of it.
    #[test]
    fn a_part_of_a_word_is_no_secret_word() {
        for word in SECRET_WORDS.iter().flat_map(|some| some.split(' ')) {
            for position in ["X@X", "A@Q", "MY_Q@Q_X"] {
                let name = position.replace('@', word);
                assert!(!is_secret_name(name.as_bytes()), "{name}");
            }
        }
    }

    #[test]
    fn names_that_people_really_use_are_told_apart() {
        let secret = "GITHUB_TOKEN AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID npm_config__authToken \
             dbPassword apiKey APIKey MyPAT tOkEn MYSQL_PWD REDISCLI_AUTH PGPASSWORD P4PASSWD \
             SSH_AUTH_SOCK DOCKER_AUTH_CONFIG SENTRY_DSN SLACK_WEBHOOK_URL \
             GOOGLE_APPLICATION_CREDENTIALS HEROKU_POSTGRESQL_DATABASE_URL \
             AZURE_STORAGE_CONNECTION_STRING DATABASEURL BORG_PASSPHRASE RAILS_MASTER_KEY \
             KUBE_CA_CERT XDG_SESSION_ID DB_PASS SUDO_PASS pwd Path_Token NPM_TOKENS BASE64KEY \
             CI_JOB_JWT_V2 NETRC databaseUrl";
        for name in secret.split(' ') {
            assert!(is_secret_name(name.as_bytes()), "{name}");
        }
        let harmless = "PATH PWD OLDPWD COMPASS KEYBOARD MONKEY HISTFILE BYPASS PASSENGER_APP_ENV \
             TOKENIZERS_PARALLELISM GIT_AUTHOR_NAME SSH_ASKPASS GIT_ASKPASS PYTHONPATH MANPATH \
             SPINNER PATTERN PATIENT KEYMAP SECRETARY CREDITS SHIPPING DATABASE_NAME \
             URL_DATABASE REDIS_HOST_URL XAUTHORITY EDITOR HOME LANG TERM CERTAIN SALTY \
             PRIVATEER DISCORD SIGNAL OPTIONS SESSIONLESS _ 123 DB_HOST CONSTRAINT";
        for name in harmless.split(' ').chain([""]) {
            assert!(!is_secret_name(name.as_bytes()), "{name}");
        }
        assert!(is_secret_name(b"\xff_TOKEN_\xfe") && !is_secret_name(b"\xff\xfe"));
    }

    /// How tokens begin, each of a form that its maker documents.
    const PREFIXES: [&str; 43] = [
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
        "glpat-",
        "gldt-",
        "glrt-",
        "npm_",
        "pypi-",
        "dckr_pat_",
        "sk-",
        "sk-ant-api03-",
        "sk-proj-",
        "hf_",
        "sk_live_",
        "rk_live_",
        "sk_test_",
        "whsec_",
        "xoxb-12-",
        "xoxp-12-",
        "xoxa-2-",
        "xapp-1-",
        "AIza",
        "GOCSPX-",
        "ya29.",
        "hvs.",
        "LTAI",
        "glsa_",
        "nvapi-",
        "ATATT3",
        "https://hooks.slack.com/services/",
        "https://discord.com/api/webhooks/",
        "Bearer ",
        "basic ",
        "eyJhbGciOi.eyJzdWIi.",
        "SG.aB3aB3aB3aB3aB3aB3.",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----\n",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n",
        "postgres://app:hush@db/",
        "12345678:AA",
    ];

    /// Values that are made up.
    fn secret_values() -> Vec<String> {
        let begun = |prefix: &str| prefix.to_owned() + &"aB3".repeat(13);
        let mut values: Vec<String> = PREFIXES.map(begun).into();
        values.extend(["AKIA", "ASIA"].map(|prefix| prefix.to_owned() + "IOSFODNN7EXAMPLE"));
        values.push("dop_v1_".to_owned() + &"0f".repeat(32));
        values.extend(
            [
                "redis://:hush@cache:6379/0",
                "https://user:123@host",
                "http://proxy:p@ss/w0rd@host:3128",
                "amqp+ssl://a:b@c",
                "jdbc:postgresql://db/x?user=a&password=hush",
                "Server=db;User Id=sa;Password=hush;",
                "host=db password=hush",
                "-Djavax.net.ssl.keyStorePassword=changeit -Xmx1g",
                "AccountName=a;AccountKey=Zm9v",
                "https://x.blob.core.windows.net/c?sv=1&sig=abc",
            ]
            .map(str::to_owned),
        );
        values
    }

    #[test]
    fn a_secret_value_is_found_wherever_it_stands() {
        for value in secret_values() {
            for (before, after) in
                [("", ""), ("x=", " y"), ("\"", "\""), ("a b,", "\n"), ("(", ")")]
            {
                let held = [before, &value, after].concat();
                assert!(is_secret_value(held.as_bytes()), "{held}");
            }
            let bytes = [b"\xff\xfe", value.as_bytes(), b"\xff"].concat();
            assert!(is_secret_value(&bytes), "{value}");
        }
    }

    #[test]
    fn ordinary_values_are_no_secrets() {
        for value in [
            "",
            "/usr/local/bin:/usr/bin:/bin",
            "C.UTF-8",
            "en_US.UTF-8",
            "xterm-256color",
            "https://example.org:8080/path",
            "http://localhost:3000",
            "git@github.com:a/b.git",
            "ssh://git@example.org/a",
            "https://user@example.org/",
            "http://[::1]:8080/a",
            "http://localhost:8080/@vite/client",
            "unix:///run/user/1000/bus",
            "disk-image-of-2026",
            "task-runner-configuration-v2",
            "/home/me/npm_packages",
            "pypi-x",
            "AKIA",
            "ghp_short",
            "eyJ",
            "-----BEGIN CERTIFICATE-----",
            "-----BEGIN PUBLIC KEY-----",
            "0",
            "true",
            "2026-01-25T16:00:00Z",
            "glibc-2.40-66-development",
            "pk_live_51H8x2QeZvKYlo2C0aBcDeFg",
            "-Xmx1g -Dfile.encoding=UTF-8",
            "rs=0:di=01;34:ln=01;36",
            "--sort-key=name&monkey=1;config=a",
            "user:pass",
            "a:b@c",
        ] {
            assert!(!is_secret_value(value.as_bytes()), "{value}");
        }
        for usual in ["/root", "/usr/local/bin:/usr/bin:/bin", "C.UTF-8", "xterm-256color"] {
            assert!(!has_sign(usual.as_bytes()), "{usual}: every run would compile the forms");
        }
        assert!(VALUES.is_some(), "every form is understood");
    }
}
