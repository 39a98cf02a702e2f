/** Stop words of languages other than English, which a page loads with the first index that needs them. */

/** Words of each language, separated by `|`. */
export const OTHER_STOP_WORDS: Readonly<Record<string, string>> = {
  Arabic:
    "ء|ءَ|آ|آب|آذار|آض|آمينَ|آناء|آنفا|آه|آها|آهاً|آهٍ|آهِ|آي|أ|أبدا|أبريل|أبو|أبٌ|أجل|أجمع|أحد|أخبر|أخذ|" +
    "أخو|أخٌ|أربع|أربعاء|أربعة|أربعمئة|أربعمائة|أرى|أسكن|أصبح|أصلا|أضحى|أطعم|أعطى|أعلم|أغسطس|أف|أفريل|" +
    "أفعل به|أفٍّ|أقبل|أقل|أكتوبر|أكثر|أل|ألا|ألف|ألفى|أم|أما|أمام|أمامك|أمامكَ|أمد|أمس|أمسى|أمّا|أن|أنا|" +
    "أنبأ|أنت|أنتم|أنتما|أنتن|أنتِ|أنشأ|أنى|أنًّ|أنّى|أهلا|أو|أوت|أوشك|أول|أولئك|أولاء|أولالك|أوه|أوّهْ|" +
    "أى|أي|أيا|أيار|أيضا|أيلول|أين|أينما|أيها|أيّ|أيّان|أُفٍّ|ؤ|إحدى|إذ|إذا|إذاً|إذما|إذن|إزاء|إلا|إلى|" +
    "إليك|إليكم|إليكما|إليكن|إليكنّ|إليكَ|إلَيْكَ|إلّا|إما|إمّا|إن|إنا|إنما|إنه|إنَّ|إى|إي|إياك|إياكم|" +
    "إياكما|إياكن|إيانا|إياه|إياها|إياهم|إياهما|إياهن|إياي|إيه|إيهٍ|ئ|ا|ابتدأ|اتخذ|اثنا|اثنان|اثني|اثنين|" +
    "اخلولق|اربعون|اربعين|ارتدّ|استحال|الآن|الألاء|الألى|التي|الذي|الذين|اللائي|اللاتي|اللتان|اللتيا|" +
    "اللتين|اللذان|اللذين|اللواتي|انبرى|انقلب|ب|بؤسا|بئس|باء|بات|بخ|بخٍ|بس|بسّ|بضع|بطآن|بعد|بعدا|بعض|" +
    "بغتة|بك|بكم|بكما|بكن|بل|بلى|بما|بماذا|بمن|بنا|به|بها|بهم|بهما|بهن|بي|بيد|بين|بَسْ|بَلْهَ|ة|ت|تاء|" +
    "تارة|تاسع|تانِ|تانِك|تبدّل|تجاه|تحت|تحوّل|تخذ|ترك|تسع|تسعة|تسعمئة|تسعمائة|تسعون|تسعين|تشرين|تعسا|" +
    "تعلَّم|تفعلان|تفعلون|تفعلين|تلقاء|تلك|تلكم|تلكما|تموز|ته|تي|تين|تينك|تَيْنِ|تِه|تِي|ث|ثاء|ثالث|ثامن|" +
    "ثان|ثاني|ثلاث|ثلاثاء|ثلاثة|ثلاثمئة|ثلاثمائة|ثلاثون|ثلاثين|ثم|ثمان|ثمانمئة|ثمانون|ثماني|ثمانية|" +
    "ثمانين|ثمة|ثمنمئة|ثمَّ|ثمّ|ثمّة|ج|جانفي|جعل|جلل|جمعة|جميع|جنيه|جوان|جويلية|جير|جيم|ح|حاء|حادي|حار|" +
    "حاشا|حاي|حبذا|حبيب|حتى|حجا|حدَث|حرى|حزيران|حسب|حقا|حمدا|حمو|حمٌ|حيث|حيثما|حين|حيَّ|حَذارِ|خ|خاء|" +
    "خاصة|خال|خامس|خبَّر|خلا|خلافا|خلف|خمس|خمسة|خمسمئة|خمسمائة|خمسون|خمسين|خميس|د|دال|درهم|درى|دواليك|" +
    "دولار|دون|دونك|ديسمبر|دينار|ذ|ذا|ذات|ذاك|ذال|ذان|ذانك|ذانِ|ذلك|ذلكم|ذلكما|ذلكن|ذه|ذهب|ذو|ذوا|ذواتا|" +
    "ذواتي|ذي|ذيت|ذين|ذينك|ذَيْنِ|ذِه|ذِي|ر|رأى|راء|رابع|راح|رجع|رزق|رويدك|ريال|ريث|رُبَّ|ز|زاي|زعم|زود|" +
    "س|ساء|سابع|سادس|سبت|سبتمبر|سبحان|سبع|سبعة|سبعمئة|سبعمائة|سبعون|سبعين|ست|ستة|ستمئة|ستمائة|ستون|ستين|" +
    "سحقا|سرا|سرعان|سقى|سمعا|سنتيم|سوف|سوى|سين|ش|شباط|شبه|شتان|شتانَ|شرع|شمال|شيكل|شين|شَتَّانَ|ص|صاد|" +
    "صار|صباح|صبر|صبرا|صدقا|صراحة|صهٍ|صهْ|ض|ضاد|ضحوة|ط|طاء|طاق|طالما|طرا|طفق|طَق|ظ|ظاء|ظلّ|ظنَّ|ع|عاد|" +
    "عاشر|عامة|عجبا|عدا|عدَّ|عسى|عشر|عشرة|عشرون|عشرين|عل|علق|علم|على|عليك|عليه|علًّ|عما|عن|عند|عوض|عيانا|" +
    "عين|عَدَسْ|غ|غادر|غالبا|غدا|غداة|غير|غين|ف|فإذا|فإن|فاء|فبراير|فرادى|فضلا|فلا|فلان|فلس|فمن|فو|فوق|" +
    "في|فيفري|فيم|فيما|فيه|فيها|ق|قاطبة|قاف|قام|قبل|قد|قرش|قطّ|قلما|ك|كأن|كأنما|كأنّ|كأي|كأين|كأيّ|كأيّن|" +
    "كاد|كاف|كان|كانون|كثيرا|كذا|كذلك|كرب|كسا|كل|كلا|كلاهما|كلتا|كلما|كليكما|كليهما|كلَّا|كلّما|كم|كما|" +
    "كن|كى|كي|كيت|كيف|كيفما|كِخ|ل|لئن|لا|لا سيما|لات|لاسيما|لام|لبيك|لدن|لدى|لست|لستم|لستما|لستن|لسن|" +
    "لسنا|لعل|لعلَّ|لعمر|لك|لكم|لكما|لكن|لكنما|لكنَّ|لكي|لكيلا|لم|لما|لمّا|لن|لنا|له|لها|لهم|لهما|لهن|لو|" +
    "لولا|لوما|لي|ليت|ليرة|ليس|ليسا|ليست|ليستا|ليسوا|م|مئة|مئتان|ما|ما أفعله|ما انفك|ما برح|مائة|مادام|" +
    "ماذا|مارس|مازال|مافتئ|ماي|مايو|متى|مثل|مذ|مرّة|مساء|مع|معاذ|مكانكم|مكانكما|مكانكنّ|مكانَك|مليم|مما|" +
    "ممن|من|منذ|منه|منها|مه|مهما|ميم|ن|نا|نبَّا|نحن|نحو|نعم|نفس|نوفمبر|نون|نيسان|نيف|نَخْ|نَّ|ه|هؤلاء|ها|" +
    "هاء|هاتان|هاته|هاتي|هاتين|هاك|هاكَ|هاهنا|هبّ|هذا|هذان|هذه|هذي|هذين|هكذا|هل|هلا|هللة|هلم|هلّا|هم|هما|" +
    "همزة|هن|هنا|هناك|هنالك|هو|هي|هيا|هيت|هيهات|هيّا|هَؤلاء|هَاتانِ|هَاتَيْنِ|هَاتِه|هَاتِي|هَجْ|هَذا|" +
    "هَذانِ|هَذَيْنِ|هَذِه|هَذِي|هَيْهات|و|وإذ|وإذا|وإن|وا|واحد|والذي|والذين|واهاً|واو|وجد|وراءَك|ورد|" +
    "ولا|ولكن|ولو|وما|ومن|وهب|وهو|وَيْ|وُشْكَانَ|ى|ي|يا|ياء|يفعلان|يفعلون|يمين|ين|يناير|يوان|يورو|يوليو|" +
    "يونيو|ّأيّان",
  Danish:
    "ad|af|alle|alt|anden|at|blev|blive|bliver|da|de|dem|den|denne|der|deres|det|dette|dig|din|disse|dog|" +
    "du|efter|eller|en|end|er|et|for|fra|ham|han|hans|har|havde|have|hende|hendes|her|hos|hun|hvad|hvis|" +
    "hvor|i|ikke|ind|jeg|jer|jo|kunne|man|mange|med|meget|men|mig|min|mine|mit|mod|ned|noget|nogle|nu|" +
    "når|og|også|om|op|os|over|på|selv|sig|sin|sine|sit|skal|skulle|som|sådan|thi|til|ud|under|var|vi|" +
    "vil|ville|vor|være|været",
  Dutch:
    "aan|al|alles|als|altijd|andere|ben|bij|daar|dan|dat|de|der|deze|die|dit|doch|doen|door|dus|een|eens|" +
    "en|er|ge|geen|geweest|haar|had|heb|hebben|heeft|hem|het|hier|hij|hoe|hun|iemand|iets|ik|in|is|ja|je|" +
    "kan|kon|kunnen|maar|me|meer|men|met|mij|mijn|moet|na|naar|niet|niets|nog|nu|of|om|omdat|onder|ons|" +
    "ook|op|over|reeds|te|tegen|toch|toen|tot|u|uit|uw|van|veel|voor|want|waren|was|wat|werd|wezen|wie|" +
    "wil|worden|wordt|zal|ze|zelf|zich|zij|zijn|zo|zonder|zou",
  Finnish:
    "ei|eivät|emme|en|et|ette|että|he|heidän|heidät|heihin|heille|heillä|heiltä|heissä|heistä|heitä|hän|" +
    "häneen|hänelle|hänellä|häneltä|hänen|hänessä|hänestä|hänet|häntä|itse|ja|johon|joiden|joihin|joiksi|" +
    "joilla|joille|joilta|joina|joissa|joista|joita|joka|joksi|jolla|jolle|jolta|jona|jonka|jos|jossa|" +
    "josta|jota|jotka|kanssa|keiden|keihin|keiksi|keille|keillä|keiltä|keinä|keissä|keistä|keitä|keneen|" +
    "keneksi|kenelle|kenellä|keneltä|kenen|kenenä|kenessä|kenestä|kenet|ketkä|ketä|koska|kuin|kuka|kun|" +
    "me|meidän|meidät|meihin|meille|meillä|meiltä|meissä|meistä|meitä|mihin|miksi|mikä|mille|millä|miltä|" +
    "minkä|minua|minulla|minulle|minulta|minun|minussa|minusta|minut|minuun|minä|missä|mistä|mitkä|mitä|" +
    "mukaan|mutta|ne|niiden|niihin|niiksi|niille|niillä|niiltä|niin|niinä|niissä|niistä|niitä|noiden|" +
    "noihin|noiksi|noilla|noille|noilta|noin|noina|noissa|noista|noita|nuo|nyt|näiden|näihin|näiksi|" +
    "näille|näillä|näiltä|näinä|näissä|näistä|näitä|nämä|ole|olemme|olen|olet|olette|oli|olimme|olin|" +
    "olisi|olisimme|olisin|olisit|olisitte|olisivat|olit|olitte|olivat|olla|olleet|ollut|on|ovat|poikki|" +
    "se|sekä|sen|siihen|siinä|siitä|siksi|sille|sillä|siltä|sinua|sinulla|sinulle|sinulta|sinun|sinussa|" +
    "sinusta|sinut|sinuun|sinä|sitä|tai|te|teidän|teidät|teihin|teille|teillä|teiltä|teissä|teistä|teitä|" +
    "tuo|tuohon|tuoksi|tuolla|tuolle|tuolta|tuon|tuona|tuossa|tuosta|tuota|tähän|täksi|tälle|tällä|tältä|" +
    "tämä|tämän|tänä|tässä|tästä|tätä|vaan|vai|vaikka|yli",
  French:
    "ai|aie|aient|aies|ait|au|aurai|auraient|aurais|aurait|aurez|auriez|aurions|aurons|auront|aux|" +
    "avaient|avais|avait|avec|avez|aviez|avons|ayant|ayez|ayons|c|ce|ceci|cela|celà|ces|cet|cette|d|dans|" +
    "de|des|du|elle|en|es|et|eu|eue|eues|eurent|eus|eusse|eussent|eusses|eussiez|eussions|eut|eux|eûmes|" +
    "eût|eûtes|furent|fus|fusse|fussent|fusses|fussiez|fussions|fut|fûmes|fûtes|ici|il|ils|j|je|l|la|le|" +
    "les|leur|leurs|lui|m|ma|mais|me|mes|moi|mon|même|n|ne|nos|notre|nous|on|ont|ou|par|pas|pour|qu|que|" +
    "quel|quelle|quelles|quels|qui|s|sa|sans|se|sera|serai|seraient|serais|serait|seras|serez|seriez|" +
    "serions|serons|seront|ses|soi|soient|sois|soit|sont|soyez|soyons|suis|sur|t|ta|te|tes|toi|ton|tu|un|" +
    "une|vos|votre|vous|y|à|étaient|étais|était|étant|étiez|étions|étée|étées|êtes",
  German:
    "aber|alle|allem|allen|aller|alles|als|also|am|an|ander|andere|anderem|anderen|anderer|anderes|" +
    "anderm|andern|anderr|anders|auch|auf|aus|bei|bin|bis|bist|da|damit|dann|das|dasselbe|dazu|daß|dein|" +
    "deine|deinem|deinen|deiner|deines|dem|demselben|den|denn|denselben|der|derer|derselbe|derselben|des|" +
    "desselben|dessen|dich|die|dies|diese|dieselbe|dieselben|diesem|diesen|dieser|dieses|dir|doch|dort|" +
    "du|durch|ein|eine|einem|einen|einer|eines|einig|einige|einigem|einigen|einiger|einiges|einmal|er|es|" +
    "etwas|euch|euer|eure|eurem|euren|eurer|eures|für|gegen|gewesen|hab|habe|haben|hat|hatte|hatten|hier|" +
    "hin|hinter|ich|ihm|ihn|ihnen|ihr|ihre|ihrem|ihren|ihrer|ihres|im|in|indem|ins|ist|jede|jedem|jeden|" +
    "jeder|jedes|jene|jenem|jenen|jener|jenes|jetzt|kann|kein|keine|keinem|keinen|keiner|keines|können|" +
    "könnte|machen|man|manche|manchem|manchen|mancher|manches|mein|meine|meinem|meinen|meiner|meines|" +
    "mich|mir|mit|muss|musste|nach|nicht|nichts|noch|nun|nur|ob|oder|ohne|sehr|sein|seine|seinem|seinen|" +
    "seiner|seines|selbst|sich|sie|sind|so|solche|solchem|solchen|solcher|solches|soll|sollte|sondern|" +
    "sonst|um|und|uns|unse|unsem|unsen|unser|unses|unter|viel|vom|von|vor|war|waren|warst|was|weg|weil|" +
    "weiter|welche|welchem|welchen|welcher|welches|wenn|werde|werden|wie|wieder|will|wir|wird|wirst|wo|" +
    "wollen|wollte|während|würde|würden|zu|zum|zur|zwar|zwischen|über",
  Greek:
    "αλλα|αν|αντι|απο|αυτα|αυτεσ|αυτη|αυτο|αυτοι|αυτοσ|αυτουσ|αυτων|αἱ|αἳ|αἵ|αὐτόσ|αὐτὸς|αὖ|γάρ|γα|γα^|" +
    "γε|για|γοῦν|γὰρ|δ'|δέ|δή|δαί|δαίσ|δαὶ|δαὶς|δε|δεν|δι'|διά|διὰ|δὲ|δὴ|δ’|εαν|ειμαι|ειμαστε|ειναι|" +
    "εισαι|ειστε|εκεινα|εκεινεσ|εκεινη|εκεινο|εκεινοι|εκεινοσ|εκεινουσ|εκεινων|ενω|επ|επι|εἰ|εἰμί|εἰμὶ|" +
    "εἰς|εἰσ|εἴ|εἴμι|εἴτε|η|θα|ισωσ|κ|καί|καίτοι|καθ|και|κατ|κατά|κατα|κατὰ|καὶ|κι|κἀν|κἂν|μέν|μή|μήτε|" +
    "μα|με|μεθ|μετ|μετά|μετα|μετὰ|μη|μην|μἐν|μὲν|μὴ|μὴν|να|ο|οι|ομωσ|οπωσ|οσο|οτι|οἱ|οἳ|οἷς|οὐ|οὐδ|οὐδέ|" +
    "οὐδείσ|οὐδεὶς|οὐδὲ|οὐδὲν|οὐκ|οὐχ|οὐχὶ|οὓς|οὔτε|οὕτω|οὕτως|οὕτωσ|οὖν|οὗ|οὗτος|οὗτοσ|παρ|παρά|παρα|" +
    "παρὰ|περί|περὶ|ποια|ποιεσ|ποιο|ποιοι|ποιοσ|ποιουσ|ποιων|ποτε|που|ποῦ|προ|προσ|πρόσ|πρὸ|πρὸς|πως|πωσ|" +
    "σε|στη|στην|στο|στον|σόσ|σύ|σύν|σὸς|σὺ|σὺν|τά|τήν|τί|τίς|τίσ|τα|ταῖς|τε|την|τησ|τι|τινα|τις|τισ|το|" +
    "τοί|τοι|τοιοῦτος|τοιοῦτοσ|τον|τοτε|του|τούσ|τοὺς|τοῖς|τοῦ|των|τό|τόν|τότε|τὰ|τὰς|τὴν|τὸ|τὸν|τῆς|τῆσ|" +
    "τῇ|τῶν|τῷ|ωσ|ἀλλ'|ἀλλά|ἀλλὰ|ἀλλ’|ἀπ|ἀπό|ἀπὸ|ἀφ|ἂν|ἃ|ἄλλος|ἄλλοσ|ἄν|ἄρα|ἅμα|ἐάν|ἐγώ|ἐγὼ|ἐκ|ἐμόσ|ἐμὸς|" +
    "ἐν|ἐξ|ἐπί|ἐπεὶ|ἐπὶ|ἐστι|ἐφ|ἐὰν|ἑαυτοῦ|ἔτι|ἡ|ἢ|ἣ|ἤ|ἥ|ἧς|ἵνα|ὁ|ὃ|ὃν|ὃς|ὅ|ὅδε|ὅθεν|ὅπερ|ὅς|ὅσ|ὅστις|" +
    "ὅστισ|ὅτε|ὅτι|ὑμόσ|ὑπ|ὑπέρ|ὑπό|ὑπὲρ|ὑπὸ|ὡς|ὡσ|ὥς|ὥστε|ὦ|ᾧ",
  Hungarian:
    "a|abban|ahhoz|ahogy|ahol|aki|akik|akkor|alatt|amely|amelyek|amelyekben|amelyeket|amelyet|amelynek|" +
    "ami|amikor|amit|amolyan|amíg|annak|arra|arról|az|azok|azon|azonban|azt|aztán|azután|azzal|azért|be|" +
    "belül|benne|bár|cikk|cikkek|cikkeket|csak|de|e|ebben|eddig|egy|egyes|egyetlen|egyik|egyre|egyéb|" +
    "egész|ehhez|ekkor|el|ellen|első|elég|elő|először|előtt|emilyen|ennek|erre|ez|ezek|ezen|ezt|ezzel|" +
    "ezért|fel|felé|hanem|hiszen|hogy|hogyan|igen|ill|ill.|illetve|ilyen|ilyenkor|ismét|ison|itt|jobban|" +
    "jó|jól|kell|kellett|keressünk|keresztül|ki|kívül|között|közül|legalább|legyen|lehet|lehetett|lenne|" +
    "lenni|lesz|lett|maga|magát|majd|meg|mellett|mely|melyek|mert|mi|mikor|milyen|minden|mindenki|" +
    "mindent|mindig|mint|mintha|mit|mivel|miért|most|már|más|másik|még|míg|nagy|nagyobb|nagyon|ne|nekem|" +
    "neki|nem|nincs|néha|néhány|nélkül|olyan|ott|pedig|persze|rá|s|saját|sem|semmi|sok|sokat|sokkal|" +
    "szemben|szerint|szinte|számára|talán|tehát|teljes|tovább|továbbá|több|ugyanis|utolsó|után|utána|" +
    "vagy|vagyis|vagyok|valaki|valami|valamint|való|van|vannak|vele|vissza|viszont|volna|volt|voltak|" +
    "voltam|voltunk|által|általában|át|én|éppen|és|így|össze|úgy|új|újabb|újra|ő|ők|őket",
  Italian:
    "a|abbia|abbiamo|abbiano|abbiate|ad|agl|agli|ai|al|all|alla|alle|allo|anche|avemmo|avendo|avesse|" +
    "avessero|avessi|avessimo|aveste|avesti|avete|aveva|avevamo|avevano|avevate|avevi|avevo|avrai|" +
    "avranno|avrebbe|avrebbero|avrei|avremmo|avremo|avreste|avresti|avrete|avrà|avrò|avuta|avute|avuti|" +
    "avuto|c|che|chi|ci|coi|col|come|con|contro|cui|da|dagl|dagli|dai|dal|dall|dalla|dalle|dallo|degl|" +
    "degli|dei|del|dell|della|delle|dello|di|dov|dove|e|ebbe|ebbero|ebbi|ed|era|erano|eravamo|eravate|" +
    "eri|ero|essendo|faccia|facciamo|facciano|facciate|faccio|facemmo|facendo|facesse|facessero|facessi|" +
    "facessimo|faceste|facesti|faceva|facevamo|facevano|facevate|facevi|facevo|fai|fanno|farai|faranno|" +
    "farebbe|farebbero|farei|faremmo|faremo|fareste|faresti|farete|farà|farò|fece|fecero|feci|fosse|" +
    "fossero|fossi|fossimo|foste|fosti|fu|fui|fummo|furono|gli|ha|hai|hanno|ho|i|il|in|io|l|la|le|lei|li|" +
    "lo|loro|lui|ma|mi|mia|mie|miei|mio|ne|negl|negli|nei|nel|nell|nella|nelle|nello|noi|non|nostra|" +
    "nostre|nostri|nostro|o|per|perché|più|quale|quanta|quante|quanti|quanto|quella|quelle|quelli|quello|" +
    "questa|queste|questi|questo|sarai|saranno|sarebbe|sarebbero|sarei|saremmo|saremo|sareste|saresti|" +
    "sarete|sarà|sarò|se|sei|si|sia|siamo|siano|siate|siete|sono|sta|stai|stando|stanno|starai|staranno|" +
    "starebbe|starebbero|starei|staremmo|staremo|stareste|staresti|starete|starà|starò|stava|stavamo|" +
    "stavano|stavate|stavi|stavo|stemmo|stesse|stessero|stessi|stessimo|steste|stesti|stette|stettero|" +
    "stetti|stia|stiamo|stiano|stiate|sto|su|sua|sue|sugl|sugli|sui|sul|sull|sulla|sulle|sullo|suo|suoi|" +
    "ti|tra|tu|tua|tue|tuo|tuoi|tutti|tutto|un|una|uno|vi|voi|vostra|vostre|vostri|vostro|è",
  Norwegian:
    "alle|at|av|bare|begge|ble|blei|bli|blir|blitt|både|båe|da|de|deg|dei|deim|deira|deires|dem|den|" +
    "denne|der|dere|deres|det|dette|di|din|disse|ditt|du|dykk|dykkar|då|eg|ein|eit|eitt|eller|elles|en|" +
    "enn|er|et|ett|etter|for|fordi|fra|før|ha|hadde|han|hans|har|hennar|henne|hennes|her|hjå|ho|hoe|" +
    "honom|hoss|hossen|hun|hva|hvem|hver|hvilke|hvilken|hvis|hvor|hvordan|hvorfor|i|ikke|ikkje|ingen|" +
    "ingi|inkje|inn|inni|ja|jeg|kan|kom|korleis|korso|kun|kunne|kva|kvar|kvarhelst|kven|kvi|kvifor|man|" +
    "mange|me|med|medan|meg|meget|mellom|men|mi|min|mine|mitt|mot|mykje|ned|no|noe|noen|noka|noko|nokon|" +
    "nokor|nokre|nå|når|og|også|om|opp|oss|over|på|samme|seg|selv|si|sia|sidan|siden|sin|sine|sitt|sjøl|" +
    "skal|skulle|slik|so|som|somme|somt|så|sånn|til|um|upp|ut|uten|var|vart|varte|ved|vere|verte|vi|vil|" +
    "ville|vore|vors|vort|vår|være|vært|å",
  Portuguese:
    "a|ao|aos|aquela|aquelas|aquele|aqueles|aquilo|as|até|com|como|da|das|de|dela|delas|dele|deles|" +
    "depois|do|dos|e|ela|elas|ele|eles|em|entre|era|eram|essa|essas|esse|esses|esta|estamos|estas|estava|" +
    "estavam|este|esteja|estejam|estejamos|estes|esteve|estive|estivemos|estiver|estivera|estiveram|" +
    "estiverem|estivermos|estivesse|estivessem|estivéramos|estivéssemos|estou|está|estávamos|estão|eu|" +
    "foi|fomos|for|fora|foram|forem|formos|fosse|fossem|fui|fôramos|fôssemos|haja|hajam|hajamos|havemos|" +
    "hei|houve|houvemos|houver|houvera|houveram|houverei|houverem|houveremos|houveria|houveriam|" +
    "houvermos|houverá|houverão|houveríamos|houvesse|houvessem|houvéramos|houvéssemos|há|hão|isso|isto|" +
    "já|lhe|lhes|mais|mas|me|mesmo|meu|meus|minha|minhas|muito|na|nas|nem|no|nos|nossa|nossas|nosso|" +
    "nossos|num|numa|não|nós|o|os|ou|para|pela|pelas|pelo|pelos|por|qual|quando|que|quem|se|seja|sejam|" +
    "sejamos|sem|serei|seremos|seria|seriam|será|serão|seríamos|seu|seus|somos|sou|sua|suas|são|só|" +
    "também|te|tem|temos|tenha|tenham|tenhamos|tenho|terei|teremos|teria|teriam|terá|terão|teríamos|teu|" +
    "teus|teve|tinha|tinham|tive|tivemos|tiver|tivera|tiveram|tiverem|tivermos|tivesse|tivessem|" +
    "tivéramos|tivéssemos|tu|tua|tuas|tém|tínhamos|um|uma|você|vocês|vos|à|às|éramos",
  Romanian:
    "a|abia|acea|aceasta|această|aceea|aceeasi|acei|aceia|acel|acela|acelasi|acele|acelea|acest|acesta|" +
    "aceste|acestea|acestei|acestia|acestui|aceşti|aceştia|adica|ai|aia|aibă|aici|al|ala|ale|alea|alt|" +
    "alta|altceva|altcineva|alte|altfel|alti|altii|altul|am|anume|apoi|ar|are|as|asa|asta|astea|astfel|" +
    "asupra|atare|atat|atata|atatea|atatia|ati|atit|atita|atitea|atitia|atunci|au|avea|avem|aveţi|avut|" +
    "aş|aţi|ba|ca|cam|cand|care|careia|carora|caruia|cat|catre|ce|cea|ceea|cei|ceilalti|cel|cele|celor|" +
    "ceva|chiar|ci|cind|cine|cineva|cit|cita|cite|citeva|citi|citiva|cu|cui|cum|cumva|cât|câte|câtva|" +
    "câţi|cînd|cît|cîte|cîtva|cîţi|că|căci|cărei|căror|cărui|către|da|daca|dacă|dar|dat|dată|dau|de|" +
    "deasupra|deci|decit|deja|desi|despre|deşi|din|dintr|dintr-|dintre|doar|doi|doilea|două|drept|dupa|" +
    "după|dă|e|ea|ei|el|ele|era|eram|este|eu|eşti|face|fara|fata|fel|fi|fie|fiecare|fii|fim|fiu|fiţi|" +
    "foarte|fost|fără|i|ia|iar|ii|il|imi|in|inainte|inapoi|inca|incit|insa|intr|intre|isi|iti|la|le|li|" +
    "lor|lui|lângă|lîngă|m|ma|mai|mea|mei|mele|mereu|meu|mi|mie|mine|mod|mult|multa|multe|multi|multă|" +
    "mulţi|mâine|mîine|mă|ne|ni|nici|nimeni|nimic|niste|nişte|noastre|noastră|noi|nostri|nostru|nou|noua|" +
    "nouă|noştri|nu|numai|o|or|ori|oricare|orice|oricine|oricum|oricând|oricât|oricînd|oricît|oriunde|" +
    "pai|parca|patra|patru|pe|pentru|peste|pic|pina|poate|pot|prea|prima|primul|prin|printr-|putini|" +
    "puţin|puţina|puţină|până|pînă|sa|sa-mi|sa-ti|sai|sale|sau|se|si|sint|sintem|spate|spre|sub|sunt|" +
    "suntem|sunteţi|sus|să|săi|său|t|ta|tale|te|ti|tine|toata|toate|toată|tocmai|tot|toti|totul|totusi|" +
    "totuşi|toţi|trei|treia|treilea|tu|tuturor|tăi|tău|u|ul|ului|un|una|unde|undeva|unei|uneia|unele|" +
    "uneori|unii|unor|unora|unu|unui|unuia|unul|v|va|vi|voastre|voastră|voi|vom|vor|vostru|vouă|voştri|" +
    "vreo|vreun|vă|zi|zice|îi|îl|îmi|în|îţi|ăla|ălea|ăsta|ăstea|ăştia|şi|ţi|ţie",
  Russian:
    "а|без|более|больше|будет|будто|бы|был|была|были|было|быть|в|вам|вас|вдруг|ведь|во|вот|впрочем|все|" +
    "всегда|всего|всех|всю|вы|где|говорил|да|даже|два|для|до|другой|его|ее|ей|ему|если|есть|еще|ж|же|" +
    "жизнь|за|зачем|здесь|и|из|или|им|иногда|их|к|кажется|как|какая|какой|когда|конечно|кто|куда|ли|" +
    "лучше|между|меня|мне|много|может|можно|мой|моя|мы|на|над|надо|наконец|нас|не|него|нее|ней|нельзя|" +
    "нет|ни|нибудь|никогда|ним|них|ничего|но|ну|о|об|один|он|она|они|опять|от|перед|по|под|после|потом|" +
    "потому|почти|при|про|раз|разве|с|сам|свою|себе|себя|сегодня|сейчас|сказал|сказала|сказать|со|совсем|" +
    "так|такой|там|тебя|тем|теперь|то|тогда|того|тоже|только|том|тот|три|тут|ты|у|уж|уже|хорошо|хоть|" +
    "чего|человек|чем|через|что|чтоб|чтобы|чуть|эти|этого|этой|этом|этот|эту|я",
  Spanish:
    "a|al|algo|algunas|algunos|ante|antes|como|con|contra|cual|cuando|de|del|desde|donde|durante|e|el|" +
    "ella|ellas|ellos|en|entre|era|erais|eran|eras|eres|es|esa|esas|ese|eso|esos|esta|estaba|estabais|" +
    "estaban|estabas|estad|estada|estadas|estado|estados|estamos|estando|estar|estaremos|estará|estarán|" +
    "estarás|estaré|estaréis|estaría|estaríais|estaríamos|estarían|estarías|estas|este|estemos|esto|" +
    "estos|estoy|estuve|estuviera|estuvierais|estuvieran|estuvieras|estuvieron|estuviese|estuvieseis|" +
    "estuviesen|estuvieses|estuvimos|estuviste|estuvisteis|estuviéramos|estuviésemos|estuvo|está|" +
    "estábamos|estáis|están|estás|esté|estéis|estén|estés|fue|fuera|fuerais|fueran|fueras|fueron|fuese|" +
    "fueseis|fuesen|fueses|fui|fuimos|fuiste|fuisteis|fuéramos|fuésemos|ha|habida|habidas|habido|habidos|" +
    "habiendo|habremos|habrá|habrán|habrás|habré|habréis|habría|habríais|habríamos|habrían|habrías|" +
    "habéis|había|habíais|habíamos|habían|habías|han|has|hasta|hay|haya|hayamos|hayan|hayas|hayáis|he|" +
    "hemos|hube|hubiera|hubierais|hubieran|hubieras|hubieron|hubiese|hubieseis|hubiesen|hubieses|hubimos|" +
    "hubiste|hubisteis|hubiéramos|hubiésemos|hubo|la|las|le|les|lo|los|me|mi|mis|mucho|muchos|muy|más|mí|" +
    "mía|mías|mío|míos|nada|ni|no|nos|nosotras|nosotros|nuestra|nuestras|nuestro|nuestros|o|os|otra|" +
    "otras|otro|otros|para|pero|poco|por|porque|que|quien|quienes|qué|se|sea|seamos|sean|seas|seremos|" +
    "será|serán|serás|seré|seréis|sería|seríais|seríamos|serían|serías|seáis|sido|siendo|sin|sobre|sois|" +
    "somos|son|soy|su|sus|suya|suyas|suyo|suyos|sí|también|tanto|te|tendremos|tendrá|tendrán|tendrás|" +
    "tendré|tendréis|tendría|tendríais|tendríamos|tendrían|tendrías|tened|tenemos|tenga|tengamos|tengan|" +
    "tengas|tengo|tengáis|tenida|tenidas|tenido|tenidos|teniendo|tenéis|tenía|teníais|teníamos|tenían|" +
    "tenías|ti|tiene|tienen|tienes|todo|todos|tu|tus|tuve|tuviera|tuvierais|tuvieran|tuvieras|tuvieron|" +
    "tuviese|tuvieseis|tuviesen|tuvieses|tuvimos|tuviste|tuvisteis|tuviéramos|tuviésemos|tuvo|tuya|tuyas|" +
    "tuyo|tuyos|tú|un|una|uno|unos|vosotras|vosotros|vuestra|vuestras|vuestro|vuestros|y|ya|yo|él|éramos",
  Swedish:
    "alla|allt|att|av|blev|bli|blir|blivit|de|dem|den|denna|deras|dess|dessa|det|detta|dig|din|dina|ditt|" +
    "du|där|då|efter|ej|eller|en|er|era|ert|ett|från|för|ha|hade|han|hans|har|henne|hennes|hon|honom|hur|" +
    "här|i|icke|ingen|inom|inte|jag|ju|kan|kunde|man|med|mellan|men|mig|min|mina|mitt|mot|mycket|ni|nu|" +
    "när|någon|något|några|och|om|oss|på|samma|sedan|sig|sin|sina|sitt|själv|skulle|som|så|sådan|sådana|" +
    "sådant|till|under|upp|ut|utan|vad|var|vara|varför|varit|varje|vars|vart|vem|vi|vid|vilka|vilkas|" +
    "vilken|vilket|vår|våra|vårt|än|är|åt|över",
  Tamil:
    "அங்கு|அங்கே|அடுத்த|அதனால்|அதன்|அதற்கு|அதிக|அதில்|அது|அதே|அதை|அந்த|அந்தக்|அந்தப்|அன்று|அல்லது|அவன்|" +
    "அவரது|அவர்|அவர்கள்|அவள்|அவை|ஆகிய|ஆகியோர்|ஆகும்|இங்கு|இங்கே|இடத்தில்|இடம்|இதனால்|இதனை|இதன்|இதற்கு|" +
    "இதில்|இது|இதை|இந்த|இந்தக்|இந்தத்|இந்தப்|இன்னும்|இப்போது|இரு|இருக்கும்|இருந்த|இருந்தது|இருந்து|இவர்|" +
    "இவை|உன்|உள்ள|உள்ளது|உள்ளன|எந்த|என|எனக்|எனக்கு|எனப்படும்|எனவும்|எனவே|எனினும்|எனும்|என்|என்ன|என்னும்|" +
    "என்பது|என்பதை|என்ற|என்று|என்றும்|எல்லாம்|ஏன்|ஒரு|ஒரே|ஓர்|கொண்ட|கொண்டு|கொள்ள|சற்று|சிறு|சில|சேர்ந்த|" +
    "தனது|தன்|தவிர|தான்|நான்|நாம்|நீ|பற்றி|பற்றிய|பல|பலரும்|பல்வேறு|பின்|பின்னர்|பிற|பிறகு|பெரும்|பேர்|" +
    "போது|போன்ற|போல|போல்|மட்டுமே|மட்டும்|மற்ற|மற்றும்|மிக|மிகவும்|மீது|முதல்|முறை|மேலும்|மேல்|யார்|வந்த|" +
    "வந்து|வரும்|வரை|வரையில்|விட|விட்டு|வேண்டும்|வேறு",
  Turkish:
    "acaba|ama|aslında|az|bazı|belki|biri|birkaç|birşey|biz|bu|da|daha|de|defa|diye|en|eğer|gibi|hem|hep|" +
    "hepsi|her|hiç|ile|ise|için|kez|ki|kim|mu|mü|mı|nasıl|ne|neden|nerde|nerede|nereye|niye|niçin|o|" +
    "sanki|siz|tüm|ve|veya|ya|yani|çok|çünkü|şey|şu",
};
