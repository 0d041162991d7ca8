//! Pages with two blocks of records, each of which holds, and of which programs that read HTML take
//! one or the other.

use super::block::Block;

/// A page that is read in more than one way, or is not the one that was written.
pub(crate) struct Misread {
    pub(crate) name: &'static str,
    pub(crate) page: Vec<u8>,
    /// Whether a browser's page shows it to a script.
    pub(crate) is_seen: bool,
}

/// Such pages: what a reading hides of one holds the block of the page, and what it shows another
/// one, of its first records alone; or the other way round.
pub(crate) fn misread(page: &str) -> Vec<Misread> {
    let block = Block::of(page);
    let (all, few) = (block.element(), block.shorter().element());
    let mut pages = in_place_of(&block, &all, &few);
    let mut add = |name, page: &[u8], is_seen| {
        pages.push(Misread { name, page: page.to_vec(), is_seen });
    };
    let replaced = |from: &str, to: &str| page.replacen(from, to, 1).into_bytes();
    for (name, other) in other_pages(&block.replaced(&few)) {
        let is_seen = !name.ends_with("shadow");
        add(name, &replaced("</body>", &format!("{other}</body>")), is_seen);
    }
    let behind = page.replacen("</body>", &format!("{few}</body>"), 1);
    let taken = behind.replacen("<header>", &format!("<header>{}", taken()), 1);
    add("two, one behind all", behind.as_bytes(), true);
    add("two, one behind all, and names are taken", taken.as_bytes(), true);
    let refreshed = "<meta name=\"referrer\" http-equiv=\"refresh\" content=\"0;url=other.html\">";
    add("two, one that it goes on to", &replaced("<title>", &format!("{refreshed}<title>")), false);
    add("comment before the head", &replaced("<head>", "<!--><head>"), true);
    add("comment before all", format!("<!-->{page}").as_bytes(), true);
    add("no policy", &replaced("http-equiv", "name"), true);
    let byte_mark = [b"\xef\xbb\xbf", page.as_bytes()].concat();
    let utf_16: Vec<u8> = page.encode_utf16().flat_map(u16::to_le_bytes).collect();
    add("byte order mark", &byte_mark, false);
    add("UTF-16", &[b"\xff\xfe", &*utf_16].concat(), false);
    add("another encoding", &replaced("utf-8", "utf-7"), true);
    add("form feed in the tag", &replaced(" id=\"hold", "\x0cid=\"hold"), false);
    add("zero in the tag", &replaced(" id=\"hold", "\0 id=\"hold"), false);
    add("capital letters", &replaced("<script", "<SCRIPT"), false);
    add("entity in the id", &replaced("holdpoint-records", "holdpoint&#45;records"), false);
    add("attribute more", &replaced(" id=\"hold", " src=\"other\" id=\"hold"), false);
    pages
}

/// Images that take the names of what a script could ask the document for.
fn taken() -> String {
    let names = ["readyState", "getElementById", "querySelectorAll", "createElement"];
    names.map(|name| format!("<img name=\"{name}\">")).concat()
}

/// What shows another page within one.
fn other_pages(other: &str) -> [(&'static str, String); 5] {
    let other = other.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    [
        ("page in a frame", format!("<iframe srcdoc=\"{other}\"></iframe>")),
        ("page in a frame in capital letters", format!("<IFRAME srcdoc=\"{other}\"></IFRAME>")),
        ("page in an object", "<object data=\"other.html\"></object>".to_string()),
        ("page in what is embedded", "<embed src=\"other.html\">".to_string()),
        (
            "page in a shadow",
            format!(
                "<p><template shadowrootmode=\"closed\"><iframe srcdoc=\"{other}\"></iframe>\
                 </template></p>"
            ),
        ),
    ]
}

/// Two blocks where a page has one.
fn in_place_of(block: &Block, all: &str, few: &str) -> Vec<Misread> {
    let entity = few.replace("-records", "&#45;records");
    let capital = few.replace("script", "SCRIPT");
    [
        ("comment that ends at once", format!("<!-->{few}<b title='-->{all}'></b>")),
        ("comment that ends at a dash", format!("<!--->{few}<b title='-->{all}'></b>")),
        ("comment that ends with a bang", format!("<!-- --!>{few}<b title='-->{all}'></b>")),
        ("instruction", format!("<?x >{few}<b title='?>{all}'></b>")),
        ("declaration", format!("<!x \"\">{few}")),
        ("marked section", format!("<![CDATA[>{few}<b title=']]>{all}'></b>")),
        ("section within a drawing", format!("<svg><![CDATA[</svg>{few}]]></svg>{all}")),
        ("script within a script", format!("<script><!--<script></script>{all}--></script>{few}")),
        ("script that goes on", format!("<script><!--<script></script>{few}</script>{all}")),
        ("template", format!("<template>{few}</template>{all}")),
        ("text area", format!("<textarea>{few}</textarea>{all}")),
        ("no scripts", format!("<noscript>{few}</noscript>{all}")),
        ("frame", format!("<iframe>{few}</iframe>{all}")),
        ("sample", format!("<xmp>{few}</xmp>{all}")),
        ("attribute", format!("<b title='{few}'></b>{all}")),
        ("two", format!("{all}{few}")),
        ("two, one under an entity", format!("{all}{entity}")),
        ("two, one in capital letters", format!("{all}{capital}")),
    ]
    .map(|(name, text)| Misread { name, page: block.replaced(&text).into(), is_seen: true })
    .into()
}
